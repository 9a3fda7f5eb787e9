// Identifies the inputs of a build: one hash of everything that dist/ is built from, stored in dist/.stamp.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const inputs = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];

/** Directory in which the type check stores the compiled library and a stamp, for a later build. */
export const checkedDirectory = ".dist-checked";

export function hashInputs(root) {
  const hash = createHash("sha256");
  for (const input of inputs) {
    for (const file of filesUnder(root, input)) {
      const content = readFileSync(join(root, file));
      hash.update(`${file}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest("hex");
}

// Returns the hash of the inputs that each part, "cli" and "lib", was built from.
export function readStamp(dist) {
  try {
    return JSON.parse(readFileSync(join(dist, ".stamp"), "utf8"));
  } catch {
    return {};
  }
}

function filesUnder(root, name) {
  const path = join(root, name);
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [name];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test(-support)?\.ts$/.test(entry.name))
    .map((entry) =>
      join(entry.parentPath ?? entry.path, entry.name)
        .slice(root.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}
