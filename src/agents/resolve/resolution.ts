import type { ModelDescription } from "../../ports/index.ts";
import type {
  AgentColor,
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
  /** Definition of the agent. Absent for the default main agent. */
  readonly definition?: AgentDefinition | undefined;
  /** Complete body of the definition. */
  readonly prompt?: string | undefined;
  readonly model: ModelDescription;
  readonly requestedModel: string | null;
  readonly modelReason: string;
  readonly maxTokensField?: Head["maxTokensField"];
  /** Requested lifetime of cache entries. Ignored by dialects that do not support it. */
  readonly cacheLifetime?: CacheLifetime | undefined;
  readonly tools: readonly ToolDeclaration[];
  readonly absentTools?: readonly AbsentTool[] | undefined;
  readonly rules: readonly Rule[];
  /** Policy layers of the agent's ancestors. */
  readonly layers?: Policy["layers"];
  /** Options set by this request. They override the definition, which overrides the settings. */
  readonly asked: AgentOptions;
  readonly settings: AgentOptions;
  /** Absolute path of the workspace, symlinks resolved. */
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
  /** Policy from which the policies of subagents are derived. If absent, the agent's own policy is used. */
  readonly childPolicy?: Policy | undefined;
  /** Tools that a subagent keeps when it runs in the background. If absent, it keeps all tools of its pool. */
  readonly backgroundPool?: readonly string[] | undefined;
  readonly maxTurns: number;
  /** Maximum size of the context in tokens, if it is smaller than the model's window. */
  readonly contextTokens?: number | undefined;
  /** Name or alias of the requested model. null if none was requested. */
  readonly requestedModel: string | null;
  readonly modelReason: string;
  readonly color?: AgentColor | undefined;
  /** Text to append to every user turn. */
  readonly criticalReminder?: string | undefined;
  /** First user turn of a new session, sent before the user's own prompt. */
  readonly initialPrompt?: string | undefined;
}
