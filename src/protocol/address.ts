import type { AgentId } from "./ids.ts";

/**
 * Address of text that is stored with a session. Models get addresses instead of paths, because the session and the
 * worker can run on different machines. An address is valid only in its session.
 */
export type Address =
  /** Complete text of a truncated result: `retinue://result/<id>`. */
  | { readonly kind: "result"; readonly id: string }
  /** A subagent's readable output, which grows while the agent works: `retinue://output/<agentId>`. */
  | { readonly kind: "output"; readonly agentId: AgentId };

/** Returns whether a value is meant as an address, even if it is not a valid one. Such a value is never used as a path. */
export function isAddress(value: unknown): value is string {
  return typeof value === "string" && /^retinue:\/\//i.test(value);
}

/** Returns the parts of an address; undefined if the address is not valid. */
export function parseAddress(address: string): Address | undefined {
  const [, kind, id] = /^retinue:\/\/(result|output)\/([a-zA-Z0-9_-]{1,80})$/.exec(address) ?? [];
  if (id === undefined) return undefined;
  return kind === "result" ? { kind, id } : { kind: "output", agentId: id };
}

/** Returns the address of a result. The id must consist of at most 80 letters, digits, `_` and `-`. */
export function resultAddress(id: string): string {
  return `retinue://result/${id}`;
}

export function outputAddress(agentId: AgentId): string {
  return `retinue://output/${agentId}`;
}
