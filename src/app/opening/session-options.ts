import type { HookFunction } from "../../hooks/index.ts";
import type { Approvals, Clock, Model, OwnMcpServer, Transcript, WorkerPort } from "../../ports/index.ts";
import type {
  Effort,
  HookEvent,
  JsonObject,
  PermissionMode,
  Rule,
  SessionId,
  Settings,
  SettingsOrigin,
  ToolText,
} from "../../protocol/index.ts";
import type { AgentUpdates } from "../../runs/index.ts";
import type { LoadedCatalogSettings } from "../agents/agent-catalog.ts";
import type { AgentOptions } from "../agents/agent-options.ts";
import type { Environment } from "../directories.ts";
import type { AgentTool, CustomTool } from "../tools/tool-types.ts";

export type OnAsk = "deny" | "wait" | "hook";

/** Hook functions defined by a program, keyed by event. */
export type SessionHookOptions = {
  readonly [Event in HookEvent]?: readonly FunctionHookOptions<Event>[] | undefined;
};

/** A hook function, with the tools or other subjects that it applies to. */
export interface FunctionHookOptions<Event extends HookEvent> {
  /** Tools, agent types or other subjects of the event to match; all if absent. */
  readonly matcher?: string | undefined;
  /** Time limit in seconds; defaults to 60. */
  readonly timeoutSeconds?: number | undefined;
  /** Called with the same input that a hook command gets. Returns nothing, or an answer. */
  readonly run: HookFunction<Event>;
}

/** An MCP server: a program to start, a URL, or a server object in your program. */
export type McpServerOptions = { readonly timeout?: number | undefined } & (
  | {
      readonly command: string;
      readonly args?: readonly string[] | undefined;
      readonly env?: Readonly<Record<string, string>> | undefined;
      readonly cwd?: string | undefined;
    }
  | {
      readonly url: string;
      readonly type?: "http" | "sse" | undefined;
      readonly headers?: Readonly<Record<string, string>> | undefined;
    }
  /** Server object, such as an `McpServer` from `@modelcontextprotocol/server`. Only one session at a time can use it. */
  | { readonly server: OwnMcpServer }
);

/** Options for `openSession`. All are optional. */
export interface SessionOptions {
  /** The workspace; defaults to the current directory. */
  readonly cwd?: string | undefined;
  /** Worker that owns the workspace, perhaps on another machine. If absent, `cwd` is a directory on this machine. */
  readonly worker?: WorkerPort | undefined;
  /** State directory; defaults to `RETINUE_HOME` or `~/.retinue`. With `false`, nothing is stored on disk. */
  readonly home?: string | false | undefined;
  /** Environment variables; defaults to those of the process. */
  readonly environment?: Environment | undefined;
  /**
   * Settings, in the format of the settings file. For example, `{ budget: { usd: 1 } }` limits the cost. The library
   * does not read the settings file; use `loadProjectSettings` for that.
   */
  readonly settings?: Settings | undefined;
  /** Path of the settings file, for messages about its rules and for reading them again. */
  readonly settingsFile?: string | undefined;
  /** Origins of the settings from `loadProjectSettings`; absent if the program supplied all settings. */
  readonly settingsOrigins?: readonly SettingsOrigin[] | undefined;
  /**
   * Rules from `loadProjectSettings`, each with its scope. They replace the lists in `settings`. If their files change,
   * the session uses the changed rules.
   */
  readonly rules?: readonly Rule[] | undefined;
  /** Agent settings from `loadProjectSettings`; read from the settings files if absent. */
  readonly catalogSettings?: LoadedCatalogSettings | undefined;
  /** The session's main agent; defaults to the resumed session's, the one that the settings choose, or `main`. */
  readonly agent?: string | undefined;
  /**
   * Gives the main agent only the delegation tools. Its subagents have the tools that the main agent would otherwise
   * have.
   */
  readonly coordinator?: boolean | undefined;
  /**
   * Replaces the main agent's prompt, or adds to it. Retinue's rules for all agents, the agent's skills and the
   * project's instructions follow it in any case.
   */
  readonly systemPrompt?: string | { readonly append: string } | undefined;
  /**
   * Agents for this session, by name. Each is created with `defineAgent`, which checks its fields when you compile, or is
   * a plain object in the format of the `agents` setting.
   */
  readonly agents?: Readonly<Record<string, AgentOptions | JsonObject>> | undefined;
  /**
   * Whether agents, skills and instructions (AGENTS.md, CLAUDE.md) from the workspace are used in addition to the
   * user's own. If absent: with `agent`, those in directories that the user trusts are used; without `agent`, no
   * instructions are read.
   */
  readonly trusted?: boolean | undefined;
  /** How the program was started; defaults to `sdk`. Some agents are only useful to people at a command line. */
  readonly entryPoint?: string | undefined;
  /**
   * The model's provider, such as `anthropic`, `openai`, `gemini`, `ollama` or `offline`. By default, the settings and the
   * environment determine it.
   */
  readonly provider?: string | undefined;
  /** A model's name, optionally with its provider (`anthropic/claude-…`), or a model object from your program. */
  readonly model?: string | Model | undefined;
  /** How much the model thinks before it answers, if it supports levels of effort. */
  readonly effort?: Effort | undefined;
  /**
   * Which calls need approval: `default` (all that may change something), `acceptEdits` (the same, except changes to
   * files in the workspace), `plan` (nothing is changed), `dontAsk` (calls that need approval are denied) or
   * `bypassPermissions`.
   */
  readonly permissionMode?: PermissionMode | undefined;
  /**
   * Whether `permissionMode` applies only when the session begins. If true, a resumed session keeps plan mode, or the
   * mode that it was changed to.
   */
  readonly keepsMode?: boolean | undefined;
  /** Tools that run in the program (`defineTool`), and agents that are called like tools (`agentTool`). */
  readonly tools?: readonly (CustomTool | AgentTool)[] | undefined;
  /** MCP servers by name, in addition to those in the settings. */
  readonly mcpServers?: Readonly<Record<string, McpServerOptions>> | undefined;
  /** Rules for calls that need no approval, such as `Edit` or `Bash(npm test)`. */
  readonly allowedTools?: readonly ToolText[] | undefined;
  /** Rules for calls that are denied, such as `WebFetch` or `Read(.env)`. A tool without a specifier is removed. */
  readonly disallowedTools?: readonly ToolText[] | undefined;
  /** Maximum number of requests to the model in one run; defaults to 50. */
  readonly maxTurns?: number | undefined;
  /**
   * Commands that check a run's work. The check passes if all of them exit with 0. They run after the acceptance
   * command in the agent's definition, and need no approval, but a rule can deny them.
   */
  readonly acceptance?: readonly string[] | undefined;
  /**
   * True if a person is present. In that case, forks work in the background, a subagent that takes too long is moved
   * there instead of being stopped, and a run ends without waiting for background agents, whose results are reported
   * with the next prompt.
   */
  readonly interactive?: boolean | undefined;
  /** Full id of a session to resume. */
  readonly resume?: SessionId | undefined;
  /**
   * Object that stores the session, instead of files in `home`. The session closes this object. With `resume`, which
   * must be the object's session id, the session continues from the object's lines.
   */
  readonly transcript?: Transcript | undefined;
  /** Hook functions, in addition to the commands in settings and definitions. */
  readonly hooks?: SessionHookOptions | undefined;
  /** Answers requests for approval. Other processes can answer them too, with `retinue approvals`. */
  readonly approvals?: Approvals | undefined;
  /**
   * How requests for approval are handled without `approvals`. `deny` (default) denies all requests. `wait` waits for
   * `retinue approvals`. `hook` lets PermissionRequest hooks decide and denies requests that they leave undecided.
   */
  readonly onAsk?: OnAsk | undefined;
  /** Which subagent events a run reports; defaults to `all`. With hundreds of agents, fewer events save time. */
  readonly agentUpdates?: AgentUpdates | undefined;
  /** Clock for tests. */
  readonly clock?: Clock | undefined;
  /** Aborts the opening of the session. MCP servers that are starting are stopped. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Receives messages for the user: about a full disk, an MCP server that starts slowly, commands without a sandbox, an
   * `approvals.ask` function that fails, or commands from another terminal.
   */
  readonly onTrouble?: ((message: string) => void) | undefined;
}
