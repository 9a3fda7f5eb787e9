import type { Approvals, Clock, Model } from "../../ports/index.ts";
import type { Effort, PermissionMode, Rule, SessionId, Settings, SettingsOrigin } from "../../protocol/index.ts";
import type { AgentUpdates } from "../../runs/index.ts";
import type { CatalogPlace } from "../agents/agent-catalog.ts";
import type { Environment } from "../places.ts";
import type { SessionHookOptions } from "./session-hooks.ts";

export type OnAsk = "deny" | "wait" | "hook";

export interface SessionOptions {
  /** The workspace; the current directory if absent. */
  readonly cwd?: string;
  /** State directory; `RETINUE_HOME` or `~/.retinue` if absent. `false` keeps nothing on disk. */
  readonly home?: string | false;
  readonly environment?: Environment;
  readonly settings?: Settings;
  /** Where the settings came from, for messages about their rules. */
  readonly settingsFile?: string;
  /** Where each of the settings comes from, as `loadProjectSettings` gives it; absent: all are the program's own words. */
  readonly settingsOrigins?: readonly SettingsOrigin[];
  /** The rules of the settings with their scopes, as `loadProjectSettings` gives them, instead of their lists. */
  readonly rules?: readonly Rule[];
  /** What the settings say about the agents there are, as `loadProjectSettings` gives it; absent: read from the files. */
  readonly catalogSettings?: CatalogPlace["settings"];
  /** Which agent works; if absent, the one that worked before, in a new session the main agent (`main`). */
  readonly agent?: string | undefined;
  /** The agent gets only the tools that give work to others; those have what it would have had. */
  readonly coordinator?: boolean;
  /** Agents for this session, by name: made with `defineAgent`, or in the form of the settings key `agents`. */
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Whether the workspace's own agents, skills and instructions (AGENTS.md, CLAUDE.md) count, beside the user's. Absent:
   * for a named agent what the user trusts counts; the main agent has no instructions from files.
   */
  readonly trusted?: boolean;
  /** How the program was entered, for agents that are there only for people at a command line; `sdk` if absent. */
  readonly entryPoint?: string;
  readonly provider?: string | undefined;
  readonly model?: string | Model | undefined;
  readonly effort?: Effort | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly maxTurns?: number | undefined;
  /**
   * Commands that say whether the work of a run is good, by ending with 0; they follow that of the agent's definition.
   * Who gives them here has allowed them, as far as no rule denies them.
   */
  readonly acceptance?: readonly string[];
  /**
   * A person is there while it runs: an agent that is waited for too long goes on in the background instead of ending,
   * and a run ends before its agents in the background, whose ends are told with the next prompt.
   */
  readonly interactive?: boolean;
  /** The whole id of a session to go on with. */
  readonly resume?: SessionId | undefined;
  /** Functions that are asked or told what happens, beside the commands that settings and definitions name. */
  readonly hooks?: SessionHookOptions;
  /** Who answers when a rule says `ask`; other processes may too, by `retinue approvals`. */
  readonly approvals?: Approvals;
  /**
   * What becomes of such calls where `approvals` is absent. `deny`, the default: they are denied with the reason. `wait`:
   * they wait for an answer by `retinue approvals`. `hook`: PermissionRequest hooks decide, and what they leave open is denied.
   */
  readonly onAsk?: OnAsk | undefined;
  /** What of its agents a run tells; `all` by default. With hundreds of agents it pays to ask for less. */
  readonly agentUpdates?: AgentUpdates;
  readonly clock?: Clock;
  /** Aborted while it is being opened: MCP servers that are about to start are ended, and opening it fails. */
  readonly signal?: AbortSignal;
  /** A person should know it while the session goes on: a full disk, or an MCP server, for which it waits; commands without a sandbox. */
  readonly onTrouble?: (message: string) => void;
}
