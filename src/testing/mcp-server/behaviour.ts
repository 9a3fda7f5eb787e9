/** How a test server misbehaves. Numbers of calls count from 1, anew in every life of the server. */
export interface McpBehaviour {
  readonly instructions?: string;
  /** Ends at once, with words on standard error. */
  readonly exitAtStart?: boolean;
  /** Never answers `initialize`. */
  readonly silent?: boolean;
  /** Waits so long before it answers `initialize`. */
  readonly slowStartMs?: number;
  readonly crashAtCall?: number;
  readonly hangAtCall?: number;
  /** So many lines that are no messages before every answer. */
  readonly junkLines?: number;
  /** From this call on it offers `other` instead of `echo`, and says so. */
  readonly changeToolsAtCall?: number;
  /** Offers tools with odd names and schemas besides. */
  readonly oddTools?: boolean;
  /** Starts a process that leaves its group and outlives its parent. */
  readonly leavesChild?: boolean;
  /** Does not end when it is asked to. */
  readonly stubborn?: boolean;
  /** Web only: breaks the connection in the middle of the answer to this call. */
  readonly breakAtCall?: number;
  /** Web only: has forgotten every session at this call. */
  readonly forgetAtCall?: number;
  /** Web only: answers as a stream of events instead of JSON. */
  readonly streams?: boolean;
  /** Web only: wants this as Authorization. */
  readonly token?: string;
}
