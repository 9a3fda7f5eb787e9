import { createHash } from "node:crypto";

/** Hashes a list of texts: 96 bits as 16 characters. Different lists have different hashes, even if their texts join to the same. */
export function hashTexts(texts: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest("base64url").slice(0, 16);
}
