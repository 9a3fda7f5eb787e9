import { createHash } from "node:crypto";
import type { Thread } from "../../src/runs/index.ts";

const mark = ',"cache_control":{"type":"ephemeral"}';

/**
 * Hashes the newest request's body without cache marks. Marks that are quoted in text stay, because quotes inside a
 * JSON string are escaped.
 */
export function hashRequest({ newestPrompt }: Thread): { hash: string; bytes: number } {
  if (newestPrompt === undefined) throw new Error("the thread has no request");
  const body = Buffer.concat(newestPrompt.body(newestPrompt.head.dialect, 0)).toString("utf8").replaceAll(mark, "");
  JSON.parse(body);
  return { hash: createHash("sha256").update(body).digest("hex"), bytes: body.length };
}
