import { createHands } from "../hands/index.ts";
import type { Hands } from "../ports/index.ts";
import { createTools, type ToolsRequest } from "../tools/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import type { Environment } from "./places.ts";

export interface HandsRequest extends Omit<ToolsRequest, "workspace"> {
  readonly root: string;
  readonly environment: Environment;
}

/** The built-in tools on the files and processes of one directory. */
export function makeHands({ root, environment, ...rest }: HandsRequest): Hands {
  const workspace = createLocalWorkspace({ root, environment });
  return createHands({ tools: createTools({ ...rest, workspace }), workspace, results: rest.results });
}
