import { createWorktree, type WorktreeRequest } from "./create-worktree.ts";

// A process that creates one worktree; the git on its PATH may kill it midway.
const request = JSON.parse(process.argv[2] ?? "") as WorktreeRequest;
process.stdout.write(JSON.stringify(await createWorktree(request)));
