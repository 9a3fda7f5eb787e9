/** Canonical tool names with their aliases. Definitions, rules and hooks may use any of them. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  Read: ["read_file", "FileRead", "read", "View"],
  Write: ["FileWrite", "write_file", "write"],
  Edit: ["FileEdit", "edit_file", "edit", "MultiEdit"],
  NotebookEdit: ["notebook_edit"],
  Bash: ["bash", "shell", "run_shell_command"],
  BashOutput: ["bash_output"],
  KillShell: ["kill_shell", "KillBash"],
  Grep: ["grep", "search_file_content"],
  Glob: ["glob", "find_files"],
  LS: ["list_dir", "ls", "list_directory", "list"],
  TodoWrite: ["todo_write", "todowrite"],
  WebFetch: ["web_fetch", "webfetch"],
  WebSearch: ["web_search", "websearch", "google_web_search"],
  Task: ["Agent", "task", "agent"],
  TaskOutput: ["AgentOutputTool", "task_output", "AgentOutput"],
  TaskStop: ["task_stop"],
  SendMessage: ["send_message"],
  Skill: ["skill"],
  EnterPlanMode: ["enter_plan_mode"],
  ExitPlanMode: ["exit_plan_mode"],
  AskUserQuestion: ["ask_user_question", "AskUser"],
};

/** All canonical names. */
export const toolNames: readonly string[] = Object.keys(aliases);

const canonical = new Map<string, string>();
for (const [name, others] of Object.entries(aliases)) {
  canonical.set(name, name);
  for (const other of others) canonical.set(other, name);
}

/** Returns the canonical name of a tool. Unknown names, such as those of MCP tools, are returned unchanged. */
export function canonicalToolName(name: string): string {
  return canonical.get(name) ?? name;
}

/** The only tools, besides MCP tools, that background agents can have. */
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
