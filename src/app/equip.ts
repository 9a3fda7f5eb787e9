import { createHands } from "../hands/index.ts";
import type { Hands, Tool, Workspace } from "../ports/index.ts";
import type { Settings } from "../protocol/index.ts";
import {
  createBashOutputTool,
  createBashTool,
  createEditTool,
  createGlobTool,
  createGrepTool,
  createKillShellTool,
  createLsTool,
  createNotebookEditTool,
  createReadTool,
  createSeenFiles,
  createShells,
  createTodos,
  createTodoWriteTool,
  createWebFetchTool,
  createWebSearchTool,
  createWriteTool,
  searchEngineFor,
} from "../tools/index.ts";
import type { Session as Transcript } from "../transcript/index.ts";
import type { ChosenModel } from "./choose-model.ts";

export interface Equipment {
  readonly workspace: Workspace;
  readonly transcript: Transcript;
  /** Where long outputs are kept whole. */
  readonly outputDirectory: string;
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly chosen: ChosenModel;
}

export interface Equipped {
  readonly hands: Hands;
  /** Tools that exist and are not there, and why. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
}

/** The built-in tools on this workspace, in the order they are declared to the model: it never changes. */
export function equip({ workspace, transcript, outputDirectory, settings, environment, chosen }: Equipment): Equipped {
  const { results } = transcript;
  const seen = createSeenFiles();
  const shells = createShells(transcript.sessionId);
  const search = searchEngineFor(settings.search, environment, chosen.search ? { anthropic: chosen.search } : {});
  const tools: Tool[] = [
    createReadTool({ workspace, seen, results }),
    createEditTool({ workspace, seen }),
    createWriteTool({ workspace, seen }),
    createNotebookEditTool({ workspace, seen }),
    createGrepTool({ workspace }),
    createGlobTool({ workspace }),
    createLsTool({ workspace }),
    createBashTool({ workspace, shells, outputDirectory }),
    createBashOutputTool({ shells }),
    createKillShellTool({ shells }),
    createTodoWriteTool({ todos: createTodos() }),
    createWebFetchTool(),
    ...("engine" in search ? [createWebSearchTool({ search: search.engine })] : []),
  ];
  const absent = "absent" in search ? [{ name: "WebSearch", reason: search.absent }] : [];
  return { hands: createHands({ tools, workspace, results }), absent };
}
