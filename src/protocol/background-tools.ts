/** What an agent in the background may use, beside MCP tools; a tool that is not listed here is not for it. */
export const backgroundTools: ReadonlySet<string> = new Set([
  "Read",
  "LS",
  "Grep",
  "Glob",
  "WebSearch",
  "WebFetch",
  "TodoWrite",
  "Bash",
  "BashOutput",
  "KillShell",
  "Edit",
  "Write",
  "NotebookEdit",
  "Skill",
]);
