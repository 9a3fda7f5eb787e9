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
  /** Needed where the policy says `ask`; useless where it says `deny`. */
  readonly grant?: Grant | undefined;
}

export type Judgement =
  /** Unknown tool or unusable input: told to the model, nothing to decide. */
  | { readonly kind: "invalid"; readonly message: string }
  | {
      readonly kind: "decided";
      readonly decision: Decision;
      readonly accesses: readonly Access[];
      /** The call was proven to change nothing: everything it touches is only read. */
      readonly readsOnly?: true | undefined;
      /** What the model is told if it stays at no; present unless the call is allowed. */
      readonly denial?: string | undefined;
    };

/** What performs tool calls: tools + workspace + decision. JSON in and out, so it may be in another process. */
export interface ToolExecutor {
  declarations(): readonly ToolDeclaration[];
  traits(toolName: string): ToolTraits;
  judge(call: ToolCall, policy: Policy): Promise<Judgement>;
  /** Decides again, then acts. Never rejects; always settles, also after abort and after the tool's time limit. */
  execute(request: ExecuteRequest, emit: (progress: string) => void, signal: AbortSignal): Promise<ToolResult>;
  /** A new agent goes on from the conversation of another: it knows what that one was shown. */
  inherit?(agentId: AgentId, from: AgentId): void;
  /** Ends what an agent left running. */
  release(agentId: AgentId): Promise<void>;
  close(): Promise<void>;
}

/** Keeps whole outputs that were cut for the model. */
export interface ResultStore {
  /** Returns an address that the Read tool understands: `retinue://result/<id>`. */
  save(id: string, text: string): Promise<string>;
  /** Undefined when there is no such result. */
  read(address: string): Promise<string | undefined>;
}
