import { join } from "node:path";
import { compileGlob, describeError, plural } from "../../lib/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec, Workspace } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";
import { createSearch, type SearchDependencies, type SearchFiles } from "../ripgrep/search-files.ts";
import { collectUnsearched } from "../ripgrep/unsearched.ts";
import { failed } from "../shared/failed.ts";
import { locate, nameFor } from "../shared/locate.ts";

const globSpec: ToolSpec = {
  declaration: {
    name: "Glob",
    description: descriptions.glob,
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string", minLength: 1, description: "Glob pattern." },
        path: { type: "string", description: "Directory to search. Default: the working directory." },
      },
      required: ["pattern"],
    },
  },
  traits: { parallel: true, effects: false },
};

const maxShown = 100;

export function createGlobTool(dependencies: SearchDependencies): Tool {
  const search = createSearch(dependencies);
  return {
    ...globSpec,
    async run(input, context) {
      const path = typeof input["path"] === "string" && input["path"] !== "" ? input["path"] : ".";
      const found = await findTarget({ pattern: String(input["pattern"]), path }, context, dependencies.workspace);
      if ("content" in found) return found;
      return listFiles(found, { context, search, root: dependencies.workspace.root });
    },
  };
}

interface GlobTarget {
  /** Directory to search: absolute, symlinks resolved. */
  readonly directory: string;
  /** Returns whether a path, which is relative to the directory, matches. */
  readonly matches: (path: string) => boolean;
}

async function findTarget(
  { pattern, path }: { readonly pattern: string; readonly path: string },
  context: ToolContext,
  workspace: Workspace,
): Promise<GlobTarget | ToolOutput> {
  if (pattern.split("/").includes(".."))
    return failed("The pattern must not contain `..`. Use `path` to search another directory.");
  const base = await locate(path, "search", { workspace, context });
  if (!base.ok) return base.output;
  if (base.kind !== "directory") return failed(`${path} is not a directory. Find the right one with LS.`);
  const { directory, absolute } = fixedDirectory(pattern);
  const start = absolute ? `/${directory}` : join(base.real, directory);
  const wanted = (absolute ? pattern.slice(1) : pattern).replace(/^(\.\/)+/, "");
  const matches = compile(wanted);
  if (typeof matches === "string") return failed(matches);
  const within = await workspace.resolve([start]);
  const real = within[0]?.real ?? "";
  // A symlink or an absolute pattern can lead outside the authorized directory.
  if (real !== base.real && !real.startsWith(`${base.real}/`)) {
    const decision = await context.authorize({ kind: "search", path: real });
    if (decision.effect !== "allow")
      return failed(`${pattern} resolves to ${real}, which is not allowed: ${decision.reason}`);
  }
  if (within[0]?.kind !== "directory") return { content: "No files found.", details: { files: 0 } };
  const prefix = directory === "" ? "" : `${directory}/`;
  return { directory: real, matches: (file) => matches(prefix + file) };
}

async function listFiles(
  { directory, matches }: GlobTarget,
  { context, search, root }: { context: ToolContext; search: SearchFiles; root: string },
): Promise<ToolOutput> {
  const shown: string[] = [];
  let total = 0;
  const unsearched = collectUnsearched({ directory, root, hidden: context.hidden });
  const end = await search(
    { directory, mode: "list", pattern: "", ignoreCase: false, multiline: false, before: 0, after: 0 },
    {
      signal: context.signal,
      onHit({ path }) {
        if (!matches(path)) return true;
        const absolute = join(directory, path);
        if (context.hidden(absolute)) return true;
        total += 1;
        if (shown.length < maxShown) shown.push(nameFor(absolute, root));
        return true;
      },
      onUnsearched: unsearched.add,
    },
  );
  if (!end.ok) return failed(end.message);
  const details = { files: total, shown: shown.length };
  if (total === 0) return { content: `No files found.${unsearched.note()}`, details };
  const rest = total - shown.length;
  const note = rest > 0 ? `\n[${plural(rest, "older file")} not shown. Use a narrower pattern or path.]` : "";
  return { content: `${shown.join("\n")}${note}${unsearched.note()}`, details };
}

function compile(pattern: string): ((path: string) => boolean) | string {
  try {
    return compileGlob(pattern);
  } catch (error) {
    return `The pattern is not valid: ${describeError(error)}`;
  }
}

/** Returns the leading directories of a pattern that contain no wildcard. Nothing outside them can match. */
export function fixedDirectory(pattern: string): { readonly directory: string; readonly absolute: boolean } {
  const absolute = pattern.startsWith("/");
  const segments = pattern.replace(/^\/+|^(\.\/)+/, "").split("/");
  const fixed: string[] = [];
  for (const segment of segments.slice(0, -1)) {
    if (/[*?[\]{}()!+@\\]/.test(segment)) break;
    if (segment !== "" && segment !== ".") fixed.push(segment);
  }
  return { directory: fixed.join("/"), absolute };
}
