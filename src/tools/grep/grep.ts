import { basename, dirname } from "node:path";
import type { Tool, ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { failed } from "../shared/failed.ts";
import { locate } from "../shared/locate.ts";
import { chooseSearch } from "./choose-search.ts";
import { collectHits } from "./collect-hits.ts";
import { grepFace } from "./face.ts";
import type { SearchRequest } from "./search-request.ts";

export interface GrepDependencies {
  readonly workspace: Workspace;
  /** Path of ripgrep; null: search without it. Absent: found when first needed. */
  readonly ripgrep?: string | null;
}

const defaultLimit = 250;

export function createGrepTool(dependencies: GrepDependencies): Tool {
  const search = chooseSearch(dependencies);
  return {
    ...grepFace,
    async run(input, context) {
      const place = await searchPlace(input, context, dependencies.workspace);
      if ("content" in place) return place;
      const request = requestOf(input, place);
      const limit = number(input, "head_limit") || defaultLimit;
      const hits = collectHits(request, {
        limit,
        root: dependencies.workspace.root,
        hidden: context.hidden,
        lineNumbers: input["-n"] !== false,
      });
      const end = await search(request, { onHit: hits.take, signal: context.signal });
      if (!end.ok) return failed(end.message);
      return hits.present();
    },
  };
}

interface SearchPlace {
  readonly directory: string;
  readonly file?: string;
}

async function searchPlace(
  input: JsonObject,
  context: ToolContext,
  workspace: Workspace,
): Promise<SearchPlace | ToolOutput> {
  const path = typeof input["path"] === "string" && input["path"] !== "" ? input["path"] : workspace.root;
  const place = await locate(path, "search", { workspace, context });
  if (!place.ok) return place.output;
  if (place.kind === "directory") return { directory: place.real };
  if (place.kind === "file") return { directory: dirname(place.real), file: basename(place.real) };
  if (place.kind === "missing") return failed(`${path} does not exist. Find the right path with Glob or LS.`);
  return failed(`${path} is neither a file nor a directory and can't be searched.`);
}

function requestOf(input: JsonObject, place: SearchPlace): SearchRequest {
  const modes: Readonly<Record<string, SearchRequest["mode"]>> = { content: "content", count: "count" };
  const around = number(input, "-C");
  return {
    ...place,
    mode: modes[String(input["output_mode"])] ?? "files",
    pattern: String(input["pattern"]),
    ignoreCase: input["-i"] === true,
    multiline: input["multiline"] === true,
    before: number(input, "-B") || around,
    after: number(input, "-A") || around,
    ...(typeof input["glob"] === "string" && input["glob"] !== "" && { glob: input["glob"] }),
    ...(typeof input["type"] === "string" && input["type"] !== "" && { type: input["type"] }),
  };
}

function number(input: JsonObject, name: string): number {
  const value = input[name];
  return typeof value === "number" ? value : 0;
}
