import type {
  Access,
  AgentId,
  Decision,
  Grant,
  InputPath,
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
  /** Approval of this call. Required if the policy says `ask`; has no effect if it says `deny`. */
  readonly grant?: Grant | undefined;
  /**
   * Paths in the input as `judge` resolved them. The call is not made if one of them leads elsewhere now, because hooks
   * and the user have decided on these paths.
   */
  readonly paths?: readonly InputPath[] | undefined;
}

/** What hooks must know about a call's input. */
export interface JudgedInput {
  /** Paths in the input. */
  readonly paths: readonly InputPath[];
  /** Properties that the tool does not have and ignores. */
  readonly ignored?: readonly string[] | undefined;
}

export type Judgment =
  /** The tool is unknown, the input is invalid, or the call can't succeed. The message is for the model. */
  | { readonly kind: "invalid"; readonly message: string }
  | (JudgedInput & {
      readonly kind: "decided";
      readonly decision: Decision;
      readonly accesses: readonly Access[];
      /** Set if the call is proven to be read-only. */
      readonly readsOnly?: true | undefined;
      /** Message for the model if the call is not approved. Absent if the call is allowed. */
      readonly denial?: string | undefined;
    });

/**
 * Performs tool calls. Combines tools, a workspace and the decision on each call. Takes and returns plain data, so that
 * it can run in another process.
 */
export interface ToolExecutor {
  declarations(): readonly ToolDeclaration[];
  traits(toolName: string): ToolTraits;
  /**
   * Decides on a call by the agent `agentId`. A call that needs approval but can't succeed is judged invalid, so that
   * no one is asked to approve it. This is not checked if `agentId` is absent.
   */
  judge(call: ToolCall, policy: Policy, agentId?: AgentId): Promise<Judgment>;
  /**
   * Decides on the call again, then runs the tool. Never rejects. Always settles, even after an abort or when the
   * tool's time limit is reached.
   */
  execute(request: ExecuteRequest, emit: (progress: string) => void, signal: AbortSignal): Promise<ToolResult>;
  /**
   * Returns the outcome of a call that was passed to `execute` earlier, for any agent and perhaps by another process.
   * Waits for a call that is still running. `lost`: it is not known whether the call had an effect. Rejects if the
   * worker can't be reached, in which case the call must stay open. An executor without this method does not know the
   * outcome of any earlier call.
   */
  recall?(call: ToolCall): Promise<ToolResult | "never begun" | "lost">;
  /**
   * Called when an agent starts from another agent's conversation. The new agent is then treated as having read every
   * file that the other agent has read.
   */
  inherit?(agentId: AgentId, from: AgentId): void;
  /** Ends everything that an agent left running. */
  release(agentId: AgentId): Promise<void>;
  close(): Promise<void>;
}

/** Stores the complete text of outputs that were truncated for the model. */
export interface ResultStore {
  /** Stores text, or the bytes of a file, and returns its address: `retinue://result/<id>`. */
  save(id: string, content: string | Uint8Array): Promise<string>;
  /**
   * Stores the content of a file on the caller's machine and returns its address. The file is not changed. A store in
   * memory keeps only the start of a large file, or rejects if `whole` is set.
   */
  saveFile(id: string, path: string, options?: { readonly whole?: boolean }): Promise<string>;
}

/** Text that models refer to by address (see `Address`). */
export interface AddressedTexts {
  /**
   * Returns the current text at an address as UTF-8, in chunks. Undefined if there is no text. Read all chunks, or end
   * the iteration.
   */
  read(address: string): Promise<AsyncIterable<Uint8Array> | undefined>;
}
