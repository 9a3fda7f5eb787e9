// Identifies the inputs of a build: a hash of everything that a part of dist/ is built from, stored in dist/.stamp.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const tooling = [
  "scripts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "tsconfig.web.json",
];
const inputs = {
  program: ["src", ...tooling],
  web: ["src/client", "src/lib", "src/protocol", "src/web", ...tooling],
};

/**
 * Returns the hash of the inputs of a part. All parts except "web" have the same inputs, which do not include the web
 * view.
 */
export function hashInputs(root, part) {
  const isWeb = part === "web";
  const hash = createHash("sha256");
  for (const input of inputs[isWeb ? "web" : "program"]) {
    for (const file of filesUnder(root, input)) {
      if (!isWeb && file.startsWith("src/web/")) continue;
      const content = readFileSync(join(root, file));
      hash.update(`${file}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest("hex");
}

// Returns the hash of the inputs that each part ("cli", "lib" and "web") was built from.
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
    .filter((entry) => entry.isFile() && !/\.test(-support)?\.tsx?$/.test(entry.name))
    .map((entry) =>
      join(entry.parentPath ?? entry.path, entry.name)
        .slice(root.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}
