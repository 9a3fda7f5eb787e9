import { createWorktree, type WorktreeRequest } from "./create-worktree.ts";

// A process that creates worktrees; the git on its PATH may kill it midway.
const requests = JSON.parse(process.argv[2] ?? "") as WorktreeRequest[];
for (const request of requests) process.stdout.write(JSON.stringify(await createWorktree(request)));
