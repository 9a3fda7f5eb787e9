// Puts parts of dist/ in place. Everything is made in a directory of its own and renamed at the end, so that two builds
// at once, or one that is interrupted, never leave a half-written dist/.

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readStamp } from "./stamp.mjs";

/**
 * `make` writes the `parts` into the directory it is given and answers whether that worked; the other part stays as it
 * is. `keepsFresh`: a dist/ that another process has made of the same inputs meanwhile stays, it is perhaps in use.
 */
export async function writeDist({ root, parts, hash, make, keepsFresh = false }) {
  const dist = join(root, "dist");
  removeLeftovers(root);
  const made = mkdtempSync(join(root, ".dist-"));
  try {
    chmodSync(made, 0o755);
    if (!(await make(made))) return false;
    const stamp = { ...keepOthers({ dist, made, parts }), ...Object.fromEntries(parts.map((part) => [part, hash])) };
    writeFileSync(join(made, ".stamp"), JSON.stringify(stamp));
    if (!keepsFresh || !isFresh({ dist, parts, hash })) putInPlace(made, dist);
    return true;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

export function isFresh({ dist, parts, hash }) {
  const stamp = readStamp(dist);
  return parts.every((part) => stamp[part] === hash);
}

const entriesOf = { cli: ["cli.js", "chunks"], lib: ["lib"] };

/** Answers the stamps of what it has kept. */
function keepOthers({ dist, made, parts }) {
  const stamp = readStamp(dist);
  const others = Object.keys(entriesOf).filter((part) => !parts.includes(part));
  const kept = others.filter((part) => existsSync(join(dist, entriesOf[part][0])));
  for (const part of kept) {
    for (const entry of entriesOf[part]) {
      const from = join(dist, entry);
      if (existsSync(from)) cpSync(from, join(made, entry), { recursive: true });
    }
  }
  return Object.fromEntries(kept.filter((part) => stamp[part]).map((part) => [part, stamp[part]]));
}

function putInPlace(made, dist) {
  for (let attempt = 0; ; attempt++) {
    const old = `${made}-old-${attempt}`;
    try {
      if (existsSync(dist)) renameSync(dist, old);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    try {
      renameSync(made, dist);
      return;
    } catch (error) {
      const takenByAnother = error.code === "ENOTEMPTY" || error.code === "EEXIST" || error.code === "EPERM";
      if (!takenByAnother || attempt >= 20) throw error;
    } finally {
      rmSync(old, { recursive: true, force: true });
    }
  }
}

// Of builds that were killed: anything that has not been touched for an hour.
function removeLeftovers(root) {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(".dist-")) continue;
    const path = join(root, name);
    if (statSync(path).mtimeMs < Date.now() - 3_600_000) rmSync(path, { recursive: true, force: true });
  }
}
