export type SessionId = string;
/** One transcript for life. The main agent of every session is `main`. */
export type AgentId = string;
/** One activation of an agent: start, fork or resume. */
export type RunId = string;
/** Sequence number of a line within its agent's transcript, as a string. */
export type LineId = string;
/** Ours, never the provider's: unique within a session and valid in every dialect (`^[a-zA-Z0-9_-]{1,40}$`). */
export type CallId = string;

export const MAIN_AGENT: AgentId = "main";
