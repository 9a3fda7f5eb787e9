import { createWorktree, type WorktreeRequest } from "./create-worktree.ts";

// A process that makes one worktree; the git on its path may kill it on the way.
const request = JSON.parse(process.argv[2] ?? "") as WorktreeRequest;
process.stdout.write(JSON.stringify(await createWorktree(request)));
