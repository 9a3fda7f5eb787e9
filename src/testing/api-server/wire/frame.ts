/** One event of a stream. The role lets faults find their place without knowing the wire. */
export type Frame = { text: string | Buffer; role?: "tool-input" | "end" };
