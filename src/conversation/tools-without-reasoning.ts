/**
 * Models that take tools over Chat Completions only if they are told not to reason: they do so by default, and then
 * refuse every request that has tools. Those that can't be told (gpt-6-astra, gpt-6.1-sol) take no tools there at all.
 */
const models: ReadonlySet<string> = new Set([
  "gpt-6-sol",
  "gpt-6-luna",
  "gpt-5.6",
  "gpt-5.6-sol",
  "gpt-5.6-terra",
  "gpt-5.6-luna",
  "gpt-5.4",
  "gpt-5.4-mini",
]);

export function takesToolsOnlyWithoutReasoning(model: string): boolean {
  return models.has(model.replace(/-\d{4}-\d{2}-\d{2}$/, ""));
}
