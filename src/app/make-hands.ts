import { createHands } from "../hands/index.ts";
import type { Hands, Tool, ToolFace } from "../ports/index.ts";
import { type Dispatcher, delegationTools } from "../runs/index.ts";
import { createTools, type ToolsRequest } from "../tools/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import type { Environment } from "./places.ts";

export interface HandsRequest extends Omit<ToolsRequest, "workspace"> {
  readonly root: string;
  readonly environment: Environment;
  readonly delegation: Delegation;
  readonly serverTools: readonly Tool[];
}

/** The tools of delegation, and what makes them work. */
export interface Delegation {
  readonly faces: readonly ToolFace[];
  readonly dispatcher: Dispatcher;
}

/** The built-in tools on the files and processes of one directory. */
export function makeHands({ root, environment, delegation, serverTools, ...rest }: HandsRequest): Hands {
  const workspace = createLocalWorkspace({ root, environment });
  return createHands({
    tools: [
      ...createTools({ ...rest, workspace }),
      ...delegationTools(delegation.dispatcher, delegation.faces),
      ...serverTools,
    ],
    workspace,
    results: rest.results,
  });
}
