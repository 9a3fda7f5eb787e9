import type { ModelDescription } from "../../ports/index.ts";
import type {
  AgentDefinition,
  CacheLifetime,
  Effort,
  Head,
  PermissionMode,
  Policy,
  Rule,
  ToolDeclaration,
  ToolReport,
} from "../../protocol/index.ts";
import type { PromptParts } from "../prompt/compose-prompt.ts";
import type { AgentMemory } from "../tools/memory-tools.ts";
import type { AbsentTool } from "../tools/resolve-tools.ts";

export interface AgentRequest {
  /** Absent for the main agent itself. */
  readonly definition?: AgentDefinition | undefined;
  /** Full body of the definition. */
  readonly prompt?: string | undefined;
  readonly model: ModelDescription;
  readonly requestedModel: string | null;
  readonly modelReason: string;
  readonly maxTokensField?: Head["maxTokensField"];
  /** Ignored by dialects that cannot express it. */
  readonly cacheLifetime?: CacheLifetime | undefined;
  readonly tools: readonly ToolDeclaration[];
  readonly absentTools?: readonly AbsentTool[] | undefined;
  readonly rules: readonly Rule[];
  /** Policy layers of the agents above it. */
  readonly layers?: Policy["layers"];
  /** Options of this call. They override the definition, which overrides the settings. */
  readonly asked: AgentOptions;
  readonly settings: AgentOptions;
  /** Absolute path, symlinks resolved. */
  readonly workspaceRoot: string;
  readonly additionalDirectories: readonly string[];
  readonly readableRoots: readonly string[];
  readonly skills?: PromptParts["skills"] | undefined;
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
}

export interface AgentOptions {
  readonly effort?: Effort | undefined;
  readonly mode?: PermissionMode | undefined;
  readonly maxTurns?: number | undefined;
}

export type AgentResolution =
  | {
      readonly ok: true;
      readonly agent: ResolvedAgent;
      readonly report: ToolReport;
      readonly notices: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

/** An agent that is ready to run: the head of its requests, its permissions and its limits. */
export interface ResolvedAgent {
  readonly agentType: string;
  readonly head: Head;
  readonly policy: Policy;
  /** Policy that its subagents are derived from; absent: its own policy. */
  readonly childPolicy?: Policy | undefined;
  /** Tools that a subagent keeps once it runs in the background; absent: all of its pool. */
  readonly backgroundPool?: readonly string[] | undefined;
  readonly maxTurns: number;
  /** Limits the context to less than the model's window. */
  readonly contextTokens?: number | undefined;
  /** Requested model, by name or alias; null if none was requested. */
  readonly requestedModel: string | null;
  readonly modelReason: string;
  /** Appended to every user turn. */
  readonly criticalReminder?: string | undefined;
  /** First user turn of a new session, before the user's own prompt. */
  readonly initialPrompt?: string | undefined;
}
