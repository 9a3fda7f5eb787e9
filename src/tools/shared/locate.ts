import { isAbsolute, relative, sep } from "node:path";
import type { ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import type { ResolvedPath } from "../../protocol/index.ts";
import { failed } from "./failed.ts";

export type Located =
  | { readonly ok: true; readonly real: string; readonly kind: ResolvedPath["kind"]; readonly name: string }
  | { readonly ok: false; readonly output: ToolOutput };

/**
 * Finds out what a path is, now. The call was judged before; where links lead elsewhere than the path says, the real
 * path is judged again, for the link may be younger than the judgement.
 */
export async function locate(
  path: string,
  access: "read" | "write" | "search",
  place: { readonly workspace: Workspace; readonly context: ToolContext },
): Promise<Located> {
  const [resolved] = await place.workspace.resolve([path]);
  if (!resolved || resolved.real === "") return { ok: false, output: failed(unusable(path)) };
  if (resolved.real !== resolved.absolute) {
    const decision = await place.context.authorize({ kind: access, path: resolved.real });
    if (decision.effect !== "allow")
      return {
        ok: false,
        output: failed(`${path} leads to ${resolved.real}, which is not allowed: ${decision.reason}`),
      };
  }
  return { ok: true, real: resolved.real, kind: resolved.kind, name: nameFor(resolved.real, place.workspace.root) };
}

/** Relative to the workspace where inside, else absolute. */
export function nameFor(real: string, root: string): string {
  const inside = relative(root, real);
  if (inside === "") return ".";
  return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? real : inside;
}

function unusable(path: string): string {
  const shown = JSON.stringify(path);
  if (path === "") return "The path is empty. Give the path of a file, absolute or relative to the workspace.";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path))
    return `${shown} contains control characters, which no path may have here.`;
  return `${shown} can't be followed: its links form a loop, a directory on the way may not be entered, or a name is too long.`;
}
