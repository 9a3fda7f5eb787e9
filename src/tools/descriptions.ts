// Generated from src/tools/*/*.md by scripts/generate.mjs. Change the .md and run `npm run generate`.
export const descriptions = {
  bash: "Runs a bash command in a new shell in the workspace root: `cd` and variables do not carry over. No terminal, no input. What it leaves running is ended: for servers set run_in_background, then use BashOutput and KillShell. `timeout`: ms, at most 600000. Use Read, Grep, Glob, Edit and Write, not cat, grep, find, sed and echo.",
  bashOutput: "What a background shell printed since you last asked, and whether it still runs.",
  edit: "Replaces old_string in a file you have read. It must match exactly, without line numbers, and occur once, or set replace_all.",
  glob: "Finds files by pattern (\"*.ts\" at any depth), newest first; git-ignored ones only if it begins inside (\"dist/**\").",
  grep: "Searches file contents by Rust regex, not in binary or git-ignored files. Lists the files unless output_mode is set.",
  killShell: "Ends a background shell.",
  ls: "Lists a directory, files with sizes.",
  notebookEdit: "Replaces (default), inserts or deletes a cell of a notebook you have read. A new cell goes behind cell_id, or first.",
  read: "Reads a file, at most 2,000 lines or 28,000 characters, from line `offset` on. Also images, notebooks and retinue://result/ID.",
  skill: "Gives you the instructions of a skill. When a task fits one of the skills below, call this before you begin, then follow what it says. `args`: what it is to work on, where it takes something. Loading runs nothing and permits nothing.",
  todoWrite: "Replaces your to-do list. For work of three or more steps; one item in_progress at a time.",
  webFetch: "Fetches a public web page as Markdown; of a long one the parts that match `prompt`.",
  webSearch: "Searches the web. WebFetch the pages that matter; name the URLs you relied on.",
  write: "Writes a whole file. One that exists must have been read in full; to change parts use Edit.",
} as const;
