import type { AddressedTexts, ResultStore, SkillRunner, Skills, Tool, Workspace } from "../ports/index.ts";
import type { SessionId, ToolTimeouts } from "../protocol/index.ts";
import { createBashTool } from "./bash/bash.ts";
import { createShells } from "./bash/shells.ts";
import { createBashOutputTool } from "./bash-output/bash-output.ts";
import { createEditTool } from "./edit/edit.ts";
import { createGlobTool } from "./glob/glob.ts";
import { createGrepTool, createTextGrepTool } from "./grep/grep.ts";
import { createKillShellTool } from "./kill-shell/kill-shell.ts";
import { createLsTool } from "./ls/ls.ts";
import { createNotebookEditTool } from "./notebook-edit/notebook-edit.ts";
import { createReadTool } from "./read/read.ts";
import { createTextReadTool } from "./read/read-text.ts";
import { createSeenFiles } from "./shared/seen-files.ts";
import { createSkillTool } from "./skill/skill.ts";
import { createTodoWriteTool } from "./todo-write/todo-write.ts";
import { createWebFetchTool } from "./web-fetch/web-fetch.ts";
import type { Search } from "./web-search/search.ts";
import { createWebSearchTool } from "./web-search/web-search.ts";
import { createWriteTool } from "./write/write.ts";

export interface WorkerToolsOptions {
  readonly sessionId: SessionId;
  readonly workspace: Workspace;
  readonly results: ResultStore;
  /** Directory for the text of long output, until it is saved as a result. */
  readonly outputDirectory: string;
  readonly timeouts?: ToolTimeouts | undefined;
  /** Environment variables that name proxies for WebFetch. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Creates the built-in tools that work on the files and processes of one workspace. */
export function createWorkerTools({
  sessionId,
  workspace,
  results,
  outputDirectory,
  timeouts = {},
  environment = process.env,
}: WorkerToolsOptions): readonly Tool[] {
  const seen = createSeenFiles();
  const shells = createShells(sessionId);
  return [
    createReadTool({ workspace, seen }),
    createGrepTool({ workspace }),
    createGlobTool({ workspace }),
    createLsTool({ workspace }),
    createWebFetchTool({ timeoutMs: milliseconds(timeouts.webFetch), environment }),
    createEditTool({ workspace, seen, results }),
    createWriteTool({ workspace, seen, results }),
    createNotebookEditTool({ workspace, seen, results }),
    createBashTool({ workspace, shells, results, outputDirectory, timeoutMs: milliseconds(timeouts.bash) }),
    createBashOutputTool({ shells, results }),
    createKillShellTool({ shells }),
  ];
}

export interface TextToolsOptions {
  readonly texts: AddressedTexts;
  /** Workspace in which ripgrep runs. Its files are not used. */
  readonly workspace: Workspace;
}

/**
 * Creates the tools that read text by its address. Their declarations match those of the tools that read files.
 */
export function createTextTools({ texts, workspace }: TextToolsOptions): readonly Tool[] {
  return [createTextReadTool(texts), createTextGrepTool({ texts, workspace })];
}

export interface ServerToolsOptions {
  readonly search?: Search | undefined;
  readonly skills?: Skills | undefined;
  readonly skillRunner?: SkillRunner | undefined;
}

/** Creates the built-in tools that need no workspace. */
export function createServerTools({ search, skills, skillRunner }: ServerToolsOptions): readonly Tool[] {
  return [
    ...(search ? [createWebSearchTool({ search })] : []),
    createTodoWriteTool(),
    ...(skills ? [createSkillTool({ skills, runner: skillRunner })] : []),
  ];
}

/**
 * The built-in tools in the order in which the model sees them. The order never changes. The tools of read-only agents
 * come first, so that all kinds of agents share the beginning of the list in the provider's cache.
 */
export const toolOrder: readonly string[] = [
  "Read",
  "Grep",
  "Glob",
  "LS",
  "WebFetch",
  "WebSearch",
  "Edit",
  "Write",
  "NotebookEdit",
  "Bash",
  "BashOutput",
  "KillShell",
  "TodoWrite",
  "Skill",
];

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}
