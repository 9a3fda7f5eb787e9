import { realpathSync } from "node:fs";
import { resolve } from "node:path";

/** Links followed, as sessions know their directories; what does not exist is only made absolute. */
export function realDirectory(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}
