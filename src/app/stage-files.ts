import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, isAbsolute, join } from "node:path";

export interface Staging {
  /** Nothing is made outside of it, nor in the place of something that is there. */
  readonly stage: string;
  /** What `~` means in links. */
  readonly home: string;
}

/** Makes files by their description: `-> target` (a link), `dir`, `fifo`, `socket`, or a text. The answer removes them. */
export async function stageFiles(
  files: Readonly<Record<string, string>>,
  { stage, home }: Staging,
): Promise<() => void> {
  const undo: (() => void)[] = [];
  const remove = (path: string) => undo.push(() => rmSync(path, { recursive: true, force: true }));
  for (const [path, what] of Object.entries(files)) {
    if (!path.startsWith(`${stage}/`) || lstatSync(path, { throwIfNoEntry: false })) continue;
    remove(firstMissing(dirname(path)) ?? path);
    mkdirSync(dirname(path), { recursive: true });
    remove(path);
    if (what.startsWith("-> ")) makeLink(path, what.slice(3), { stage, home, files, remove });
    else if (what === "dir" || what.startsWith("dir,")) mkdirSync(path);
    else if (what === "fifo") spawnSync("mkfifo", [path]);
    else if (what === "socket") undo.push(await listen(path));
    else writeFileSync(path, what);
  }
  return () => {
    for (const each of undo.toReversed()) each();
  };
}

/** With the file it leads to, unless that is a file of its own or meant to be missing. */
function makeLink(
  path: string,
  what: string,
  {
    stage,
    home,
    files,
    remove,
  }: Staging & { readonly files: Readonly<Record<string, string>>; readonly remove: (path: string) => void },
): void {
  const target = what.replace(/ \(missing\)$/, "").replace(/^~(?=\/|$)/, home);
  symlinkSync(target, path);
  const place = isAbsolute(target) ? target : join(dirname(path), target);
  if (target !== what || !place.startsWith(`${stage}/`) || existsSync(place) || Object.hasOwn(files, place)) return;
  remove(firstMissing(dirname(place)) ?? place);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, "x");
  remove(place);
}

function listen(path: string): Promise<() => void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve(() => void server.close()));
  });
}

function firstMissing(directory: string): string | undefined {
  if (existsSync(directory)) return undefined;
  return firstMissing(dirname(directory)) ?? directory;
}
