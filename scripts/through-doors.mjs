// A room is imported by its door, and a door names every file of its room. To the bundler that makes all of them belong
// together, also those that only a lazy part of the program uses. Here each import of a door becomes imports of the
// very files behind it, so that a chunk has what it uses and no more.

import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const fromDoor = /^(import|export) \{([^}]*)\} from "(\.[^"]*\/index\.ts)";/gm;
const exported = /^export \{([^}]*)\} from "(\.[^"]+)";/gm;

export function throughDoors() {
  const doors = new Map();
  return {
    name: "through-doors",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
        contents: straighten(readFileSync(path, "utf8"), { path, doors }),
        loader: "ts",
      }));
    },
  };
}

function straighten(source, { path, doors }) {
  return source.replace(fromDoor, (...match) => {
    const [statement, verb, names, specifier] = match;
    const door = resolve(dirname(path), specifier);
    if (!existsSync(door)) return statement;
    const behind = filesBehind(door, doors);
    const asked = namesIn(names).filter(({ isType }) => !isType);
    if (!asked.every(({ name }) => behind.has(name))) return statement;
    return asked
      .map(({ name, local }) => {
        const { file, original } = behind.get(name);
        const from = relative(dirname(path), file).replaceAll("\\", "/");
        return `${verb} { ${original} as ${local} } from "${from.startsWith(".") ? from : `./${from}`}";`;
      })
      .join(" ");
  });
}

/** By the name it has at the door: the file it stands in, and its name there. */
function filesBehind(door, doors) {
  const known = doors.get(door);
  if (known) return known;
  const found = new Map();
  doors.set(door, found);
  for (const [, names, specifier] of readFileSync(door, "utf8").matchAll(exported)) {
    const file = resolve(dirname(door), specifier);
    const beyond = file.endsWith("/index.ts") ? filesBehind(file, doors) : undefined;
    for (const { isType, name, local } of namesIn(names)) {
      if (!isType) found.set(local, beyond?.get(name) ?? { file, original: name });
    }
  }
  return found;
}

function namesIn(list) {
  return list
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [name, local = name] = entry.replace(/^type /, "").split(" as ");
      return { isType: entry.startsWith("type "), name, local };
    });
}
