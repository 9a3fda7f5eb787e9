import { createHands } from "../hands/index.ts";
import type { Hands, Tool, Workspace } from "../ports/index.ts";
import type { Settings } from "../protocol/index.ts";
import {
  createEditTool,
  createGrepTool,
  createReadTool,
  createSeenFiles,
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
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly chosen: ChosenModel;
}

/** The built-in tools on this workspace, in the order they are declared to the model: it never changes. */
export function equip({ workspace, transcript, settings, environment }: Equipment): Hands {
  const seen = createSeenFiles();
  const { results } = transcript;
  const search = searchEngineFor(settings.search, environment);
  const tools: Tool[] = [
    createReadTool({ workspace, seen, results }),
    createEditTool({ workspace, seen }),
    createWriteTool({ workspace, seen }),
    createGrepTool({ workspace }),
    createWebFetchTool(),
    ...("engine" in search ? [createWebSearchTool({ search: search.engine })] : []),
  ];
  return createHands({ tools, workspace, results });
}
