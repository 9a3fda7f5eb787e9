import { type createResolving, type createSharing, judgeAgent } from "../agents/index.ts";
import type { Clock, Hands, McpConnection } from "../ports/index.ts";
import type { AgentDefinition, Policy, Settings } from "../protocol/index.ts";
import type { Session as Transcript } from "../transcript/index.ts";
import type { AgentServers } from "./agent-servers.ts";
import type { Household } from "./household.ts";
import { mayBackground } from "./may-background.ts";
import type { Environment } from "./places.ts";
import type { SessionHooks } from "./session-hooks.ts";

export interface Preparation {
  readonly household: Household;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly clock: Clock;
  /** What there is for any agent of the session. */
  readonly tools: () => ReturnType<Hands["declarations"]>;
  /** Tools that exist and are not there, and why. */
  readonly absentTools: readonly { readonly name: string; readonly reason: string }[];
  /** The program gave a model of its own, and there is no other. */
  readonly modelIsGiven: boolean;
  /** A person is there. */
  readonly interactive: boolean;
  readonly servers: AgentServers;
  /** The MCP servers that the session's own agent has. */
  readonly connection: McpConnection;
  readonly transcript: Transcript;
  readonly hooks: SessionHooks;
  /** The session's tools on another directory. */
  readonly handsAt: (root: string) => Promise<Hands>;
}

/** The same for all agents of a session, with what they have in common. */
export interface SharedPreparation extends Preparation {
  readonly share: ReturnType<typeof createSharing>;
  readonly resolve: ReturnType<typeof createResolving>;
}

export function mayDetach(preparation: Preparation): boolean {
  return preparation.interactive && mayBackground(preparation);
}

/** `Task(Explore)` in a deny list: nobody gives it work, by whatever name. */
export function denialOf({ name }: Pick<AgentDefinition, "name">, policy: Policy): string | undefined {
  const { effect, scope, rule } = judgeAgent(name, policy);
  return effect === "deny" ? `Agent "${name}" can't be used here: the ${scope} rule ${rule} denies it.` : undefined;
}
