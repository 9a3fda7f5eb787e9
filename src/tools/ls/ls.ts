import { join } from "node:path";
import { compileGlob, describeError, formatBytes, formatCount, plural, stripControls } from "../../lib/index.ts";
import type { DirectoryEntry, Tool, ToolContext, ToolOutput, ToolSpec, Workspace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { explainMissing, locate } from "../shared/locate.ts";

const lsSpec: ToolSpec = {
  declaration: {
    name: "LS",
    description: descriptions.ls,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "Directory to list. Default: the working directory." },
        ignore: { type: "array", items: { type: "string" }, description: "Glob patterns for names to omit." },
      },
    },
  },
  traits: { parallel: true, effects: false },
};

export interface LsDependencies {
  readonly workspace: Workspace;
}

const MAX_ENTRIES = 500;
const MAX_CHARACTERS = 20_000;

export function createLsTool(dependencies: LsDependencies): Tool {
  return {
    ...lsSpec,
    run: (input, context) => list(input, context, dependencies),
  };
}

async function list(input: JsonObject, context: ToolContext, { workspace }: LsDependencies): Promise<ToolOutput> {
  const directory = await locate((input["path"] as string | undefined) ?? ".", "search", { workspace, context });
  if (!directory.ok) return directory.output;
  if (directory.kind === "missing") return explainMissing(directory, { workspace, context });
  if (directory.kind !== "directory") return failed(`${directory.name} is not a directory. Use Read for files.`);
  const listed = await workspace.list(directory.real);
  if (!listed.ok && listed.code === "too_large")
    return failed(`${directory.name} has more than 100,000 entries. Use Glob with a pattern.`);
  if (!listed.ok) return fileFailed(listed);
  const ignored = matcherOf((input["ignore"] as readonly string[] | undefined) ?? []);
  if (typeof ignored === "string") return failed(ignored);
  const visible = listed.entries.filter(({ name }) => !context.hidden(join(directory.real, name)));
  const wanted = visible.filter(({ name }) => !ignored(name));
  const text = show([...wanted].sort(byKindAndName), visible.length - wanted.length);
  return { content: text, details: { path: directory.name, entries: wanted.length } };
}

/**
 * Returns a matcher for the patterns, or a message if one is invalid. `build/` and `build/**` exclude `build` itself.
 */
function matcherOf(patterns: readonly string[]): ((name: string) => boolean) | string {
  const matchers: ((name: string) => boolean)[] = [];
  for (const pattern of patterns) {
    try {
      matchers.push(compileGlob(pattern.replace(/\/(\*\*)?$/, "")));
    } catch (error) {
      return `The pattern ${JSON.stringify(pattern)} in ignore is not valid: ${describeError(error)}`;
    }
  }
  return (name) => matchers.some((matches) => matches(name));
}

function show(entries: readonly DirectoryEntry[], ignored: number): string {
  const note = ignored > 0 ? `[${plural(ignored, "name")} ignored.]` : "";
  if (entries.length === 0) return note || "[The directory is empty.]";
  let text = "";
  let shown = 0;
  for (const entry of entries.slice(0, MAX_ENTRIES)) {
    const row = `${describe(entry)}\n`;
    if (shown > 0 && text.length + row.length > MAX_CHARACTERS) break;
    text += row;
    shown += 1;
  }
  const left = entries.length - shown;
  return text + (left > 0 ? `[${formatCount(left)} more not shown. Use Glob with a pattern.]` : "") + note;
}

function describe({ name, kind, size }: DirectoryEntry): string {
  const shown = stripControls(name, { visible: true }).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  if (kind === "directory") return `${shown}/`;
  if (kind === "link") return `${shown}@`;
  if (kind === "other") return `${shown} (not a regular file)`;
  return size < 0 ? shown : `${shown} ${formatBytes(size)}`;
}

function byKindAndName(left: DirectoryEntry, right: DirectoryEntry): number {
  const directories = Number(right.kind === "directory") - Number(left.kind === "directory");
  return directories || (left.name < right.name ? -1 : 1);
}
