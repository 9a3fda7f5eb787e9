import { readFile } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { type ApprovalQuestion, previewChange } from "../../app/index.ts";
import { isRecord } from "../../lib/index.ts";
import type { JsonObject } from "../../protocol/index.ts";

/** Larger files are not compared. */
const MAX_CHARACTERS = 2_000_000;

/** Returns the unified diff of the change that a call would make; undefined if it is not known. Never rejects. */
export async function previewOf({ call, path }: ApprovalQuestion, cwd: string): Promise<string | undefined> {
  try {
    const input: unknown = JSON.parse(call.inputJson);
    const file = isRecord(input) ? input["file_path"] : undefined;
    // A subagent may work in a directory of its own, to which its paths are relative.
    if (typeof file !== "string" || (path.length > 0 && !isAbsolute(file))) return undefined;
    const before = await readFile(resolve(cwd, file), "utf8").catch(() => undefined);
    if ((before?.length ?? 0) > MAX_CHARACTERS) return undefined;
    return await previewChange({ name: call.name, input: input as JsonObject }, before);
  } catch {
    return undefined;
  }
}
