export type SessionId = string;
/** Identifies an agent and its transcript permanently. The main agent of every session is `main`. */
export type AgentId = string;
/** Identifies one activation of an agent: start, fork or resume. */
export type RunId = string;
/** Sequence number of a line in its agent's transcript, as a string. */
export type LineId = string;
/**
 * Id of a tool call. Assigned by Retinue, not by the provider. Unique in a session and valid in every dialect
 * (`^[a-zA-Z0-9_-]{1,40}$`).
 */
export type CallId = string;

/**
 * Id of a prompt that can wait in a queue. Chosen by the sender, so that sending the same prompt again has no effect.
 */
export type PromptId = string;

export const MAIN_AGENT: AgentId = "main";
