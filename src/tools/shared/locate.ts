import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { nearest } from "../../lib/index.ts";
import type { CallContext, ToolOutput, Workspace } from "../../ports/index.ts";
import { isAddress, type ResolvedPath } from "../../protocol/index.ts";
import { failed } from "./failed.ts";

export type Located =
  | { readonly ok: true; readonly real: string; readonly kind: ResolvedPath["kind"]; readonly name: string }
  | { readonly ok: false; readonly output: ToolOutput };

/**
 * Resolves the path of a call. Files are opened by their real path without following symlinks, so the authorized path
 * is still correct for them. Searches follow symlinks, so their path is resolved again, and authorized again if it now
 * leads elsewhere.
 */
export async function locate(
  path: string,
  access: "read" | "write" | "search",
  place: { readonly workspace: Workspace; readonly context: CallContext },
): Promise<Located> {
  // An address must not be used as a path, because permissions were not checked for such a path.
  if (isAddress(path)) return { ok: false, output: failed(notAFile(path)) };
  const decided = access === "search" ? undefined : place.context.paths.find(({ requested }) => requested === path);
  const resolved = decided ?? (await place.workspace.resolve([path]))[0];
  if (!resolved || resolved.real === "") return { ok: false, output: failed(unusable(path)) };
  if (!decided && resolved.real !== resolved.absolute) {
    const decision = await place.context.authorize({ kind: access, path: resolved.real });
    if (decision.effect !== "allow")
      return {
        ok: false,
        output: failed(`${path} resolves to ${resolved.real}, which is not allowed: ${decision.reason}`),
      };
  }
  return { ok: true, real: resolved.real, kind: resolved.kind, name: nameFor(resolved.real, place.workspace.root) };
}

/** Returns the path relative to the workspace if it is inside, otherwise the absolute path. */
export function nameFor(real: string, root: string): string {
  if (real.startsWith(root + sep)) return real.slice(root.length + sep.length);
  const inside = relative(root, real);
  if (inside === "") return ".";
  return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? real : inside;
}

function notAFile(address: string): string {
  return `${JSON.stringify(address.slice(0, 100))} is a session address, not a file in the workspace.`;
}

function unusable(path: string): string {
  const shown = JSON.stringify(path);
  if (path === "") return "The path is empty. Pass an absolute path or one relative to the workspace.";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path))
    return `${shown} contains control characters, which are not allowed in paths.`;
  return `${shown} can't be resolved: its symbolic links form a loop, a directory on the path can't be entered, or a name is too long.`;
}

/** Reports a missing file and suggests names that the model may have meant. */
export async function explainMissing(
  file: { readonly real: string; readonly name: string },
  place: { readonly workspace: Workspace; readonly context: CallContext },
): Promise<ToolOutput> {
  const { workspace, context } = place;
  const directory = dirname(file.real);
  const isDirectory = (await workspace.stat(directory)).kind === "directory";
  if (!isDirectory) {
    const name = nameFor(await existingAbove(directory, workspace), workspace.root);
    return failed(`${file.name} does not exist; the path exists only up to ${name}. Look there with LS or Glob.`);
  }
  const names = await namesIn(directory, place);
  const close = nearest(basename(file.real), names, 3).map((name) => nameFor(join(directory, name), workspace.root));
  if (close.length > 0) return failed(`${file.name} does not exist. Did you mean ${close.join(", ")}?`);
  const where = nameFor(directory, workspace.root);
  const mayLook = !context.hidden(directory) && names.length > 0;
  return failed(`${file.name} does not exist. ${mayLook ? `List ${where} with LS or find it` : "Find it"} with Glob.`);
}

/** Returns the names in a directory if the agent may list it; otherwise an empty list. */
async function namesIn(
  directory: string,
  { workspace, context }: { readonly workspace: Workspace; readonly context: CallContext },
): Promise<readonly string[]> {
  const decision = await context.authorize({ kind: "search", path: directory });
  if (decision.effect !== "allow") return [];
  const listed = await workspace.list(directory);
  if (!listed.ok) return [];
  return listed.entries.map((entry) => entry.name).filter((name) => !context.hidden(join(directory, name)));
}

async function existingAbove(path: string, workspace: Workspace): Promise<string> {
  const parent = dirname(path);
  if (parent === path || (await workspace.stat(parent)).kind === "directory") return parent;
  return existingAbove(parent, workspace);
}
