/** One canonical name per tool; definitions, rules and hooks may use any alias. */
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

/** Every canonical name. */
export const toolNames: readonly string[] = Object.keys(aliases);

const canonical = new Map<string, string>();
for (const [name, others] of Object.entries(aliases)) {
  canonical.set(name, name);
  for (const other of others) canonical.set(other, name);
}

/** A name that is not ours (an MCP tool, a typing error) is its own canonical name. */
export function canonicalToolName(name: string): string {
  return canonical.get(name) ?? name;
}
