import type {
  Access,
  AgentId,
  Decision,
  Grant,
  Policy,
  ToolCall,
  ToolDeclaration,
  ToolResult,
} from "../protocol/index.ts";
import type { ToolTraits } from "./tool.ts";

export interface ExecuteRequest {
  readonly agentId: AgentId;
  readonly call: ToolCall;
  readonly policy: Policy;
  /** Approval of this call. Needed if the policy says `ask`; has no effect if it says `deny`. */
  readonly grant?: Grant | undefined;
}

export type Judgement =
  /** Unknown tool or invalid input. The message goes to the model. */
  | { readonly kind: "invalid"; readonly message: string }
  | {
      readonly kind: "decided";
      readonly decision: Decision;
      readonly accesses: readonly Access[];
      /** True if the call is proven to change nothing: it only reads. */
      readonly readsOnly?: true | undefined;
      /** Message for the model if the call is not approved; absent if the call is allowed. */
      readonly denial?: string | undefined;
    };

/** Performs tool calls: tools, a workspace and the decision. Takes and returns plain data, so it can run in another process. */
export interface ToolExecutor {
  declarations(): readonly ToolDeclaration[];
  traits(toolName: string): ToolTraits;
  judge(call: ToolCall, policy: Policy): Promise<Judgement>;
  /** Decides again, then runs the tool. Never rejects; always settles, also after an abort and after the tool's time limit. */
  execute(request: ExecuteRequest, emit: (progress: string) => void, signal: AbortSignal): Promise<ToolResult>;
  /** Called when an agent starts from the conversation of another: it has seen the files that the other one has read. */
  inherit?(agentId: AgentId, from: AgentId): void;
  /** Ends everything that an agent left running. */
  release(agentId: AgentId): Promise<void>;
  close(): Promise<void>;
}

/** Stores the complete text of outputs that were truncated for the model. */
export interface ResultStore {
  /** Returns an address that the Read tool understands: `retinue://result/<id>`. */
  save(id: string, text: string): Promise<string>;
  /** Returns undefined if there is no such result. */
  read(address: string): Promise<string | undefined>;
}
