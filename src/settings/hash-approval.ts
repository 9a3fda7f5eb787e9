import { createHash } from "node:crypto";

/** A value in JSON, the order of keys aside: what was approved is what it means, not how it was laid out. */
export function hashApproval(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex");
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const sorted = entries.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return `{${sorted.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}
