import { basename, dirname, join } from "node:path";
import { nearest } from "../../lib/index.ts";
import type { ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import { failed } from "./failed.ts";
import { nameFor } from "./locate.ts";

/** Says that a file is missing, and which names the model may have meant. */
export async function explainMissing(
  file: { readonly real: string; readonly name: string },
  place: { readonly workspace: Workspace; readonly context: ToolContext },
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

/** Names are told only where the agent may list them itself. */
async function namesIn(
  directory: string,
  { workspace, context }: { readonly workspace: Workspace; readonly context: ToolContext },
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
