import type { Workspace } from "../ports/index.ts";
import type { Access } from "../protocol/index.ts";

/**
 * Explains why a path is ambiguous for a tool that opens files itself. After a symlink, `..` leads to the parent of the
 * link's target if the system resolves the path, but to the link's own directory if the program normalizes it first.
 */
export async function ambiguousPath(
  accesses: readonly Access[],
  workspace: Pick<Workspace, "resolve" | "stat">,
): Promise<string | undefined> {
  for (const access of accesses) {
    const link = "path" in access ? await linkBeforeParent(access.path, workspace) : undefined;
    if (link !== undefined && "path" in access)
      return `The path ${access.path} is ambiguous: ${link} is not a plain directory, so \`..\` after it may lead elsewhere. Use a path without \`..\`.`;
  }
  return undefined;
}

async function linkBeforeParent(
  path: string,
  workspace: Pick<Workspace, "resolve" | "stat">,
): Promise<string | undefined> {
  const names = path.split("/");
  for (const [index, name] of names.entries()) {
    const before = names.slice(0, index).join("/");
    if (name !== ".." || before === "") continue;
    const [place] = await workspace.resolve([before]);
    if (place !== undefined && (await workspace.stat(place.absolute)).kind === "other") return before;
  }
  return undefined;
}
