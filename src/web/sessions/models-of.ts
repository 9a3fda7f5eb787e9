import type { SessionInfo } from "../../protocol/index.ts";

/** Returns models to suggest: the size names, and the models that sessions have used most recently. */
export function modelsOf(sessions: readonly SessionInfo[]): readonly string[] {
  const used = new Set(sessions.flatMap(({ model }) => model ?? []));
  return [...new Set(["small", "medium", "large", ...[...used].slice(0, 10)])];
}
