import { plural } from "../../lib/index.ts";
import { isTest } from "../map/languages.ts";
import { foreignGlob } from "../map/survey-files.ts";
import type { FindRequest } from "../recognise/job-request.ts";
import { definitionPattern, isDefinition, usagePattern } from "./definitions.ts";
import { ask, askAll, glob, grep, type Job, type Seen } from "./job.ts";
import { clip, compose, firstOf, rows, type Section } from "./report.ts";
import { type Hit, parseHits, parsePage, parsePaths } from "./results.ts";

const maxFiles = 12;
const linesPerFile = 4;

/** Where a name is defined and where it is used, each line with its place. */
export function* findSymbol({ symbol, path }: FindRequest): Job {
  const name = symbol.split(/::|\./).at(-1) || symbol;
  const options = { path, glob: foreignGlob, output_mode: "content" };
  const { defined, used } = yield* ask(`Searching for ${symbol}.`, {
    defined: grep(definitionPattern(name), { ...options, head_limit: 60 }),
    used: grep(usagePattern(symbol), { ...options, head_limit: 250 }),
  });
  const definitions = hitsOf(defined)
    .hits.filter((hit) => isDefinition(hit, name))
    .sort(testsLast);
  const usages = hitsOf(used);
  if (definitions.length === 0 && usages.hits.length === 0)
    return yield* findNear(symbol, { path, seen: [defined, used] });
  const places = new Set(definitions.map(placeOf));
  const others = usages.hits.filter((hit) => !places.has(placeOf(hit)));
  const [around] = yield* askAll(
    "Reading the definition.",
    definitions.slice(0, 1).map(({ path: file, line }) => ({
      name: "Read",
      input: { file_path: file, offset: Math.max(1, line - 8), limit: 16 },
    })),
  );
  const text = compose(
    `${symbol}: ${plural(definitions.length, "definition")}, ${plural(others.length + usages.left, "other line")}`,
    [definitionSection(definitions, name), aroundSection(definitions[0], around), usageSection(others, usages.left)],
  );
  return { kind: "report", text };
}

function definitionSection(definitions: readonly Hit[], name: string): Section {
  const lines = rows(definitions.map((hit) => [placeOf(hit), clip(hit.text)]));
  if (lines.length === 0) lines.push(`- no line that looks like a definition of ${name}`);
  return { heading: "Defined", lines: firstOf(lines, 10, "definition") };
}

/** The comment above a definition and its first lines. */
function aroundSection(hit: Hit | undefined, seen: Seen | undefined): Section | undefined {
  if (!hit || !seen?.ok) return undefined;
  const { lines } = parsePage(seen.text);
  const at = lines.findIndex(({ number }) => number === hit.line);
  if (at < 0) return undefined;
  let from = at;
  while (from > 0 && /^\s*(\/\/|\/?\*|#|--|@|"""|;)/.test(lines[from - 1]?.text ?? "")) from -= 1;
  const shown = lines
    .slice(from, Math.min(at + 8, lines.length))
    .map(({ number, text }) => `${String(number).padStart(5)}  ${text.slice(0, 140)}`);
  return { heading: placeOf(hit), lines: ["```", ...shown, "```"] };
}

function usageSection(hits: readonly Hit[], left: number): Section {
  const byFile = new Map<string, Hit[]>();
  for (const hit of [...hits].sort(testsLast)) byFile.set(hit.path, [...(byFile.get(hit.path) ?? []), hit]);
  if (byFile.size === 0) return { heading: "Used", lines: ["- no other line has the name"] };
  const groups = [...byFile.values()].slice(0, maxFiles);
  const shown = groups.flatMap((group) => group.slice(0, linesPerFile));
  const cells = rows(shown.map((hit) => [placeOf(hit), clip(hit.text, 90)]));
  const more = groups
    .filter((group) => group.length > linesPerFile)
    .map((group) => `${group[0]?.path} (${group.length})`);
  const lines = [...cells];
  if (more.length > 0) lines.push(`- with more lines than shown: ${more.join(", ")}`);
  if (byFile.size > maxFiles)
    lines.push(
      `- and ${plural(byFile.size - maxFiles, "more file")}: ${clip([...byFile.keys()].slice(maxFiles).join(", "), 200)}`,
    );
  if (left > 0) lines.push(`- the search was cut: ${plural(left, "more line")}`);
  return { heading: `Used in ${plural(byFile.size, "file")}${left > 0 ? " of those shown" : ""}`, lines };
}

function* findNear(symbol: string, { path, seen }: { path: string; seen: readonly Seen[] }): Job {
  const { lines, files } = yield* ask("Nothing with exactly this name: looking for similar ones.", {
    lines: grep(usagePattern(symbol).replaceAll("\\b", ""), {
      path,
      glob: foreignGlob,
      output_mode: "content",
      "-i": true,
      head_limit: 15,
    }),
    files: glob(`**/*${symbol.replace(/[^\w.-]/g, "?")}*`, path),
  });
  const { hits, left } = hitsOf(lines);
  const near = rows(hits.map((hit) => [placeOf(hit), clip(hit.text)]));
  if (left > 0) near.push(`- and ${plural(left, "more line")}`);
  const named = files.ok ? parsePaths(files.text).paths : [];
  const failed = [...seen, lines].some((one) => !one.ok);
  const nothing = failed ? "- not every search could be made" : `- no line below ${path} has ${symbol}`;
  const text = compose(`${symbol}: not found`, [
    { heading: "Result", lines: [nothing] },
    { heading: "Lines with other upper and lower case, or as part of a word", lines: near },
    {
      heading: "Files with such a name",
      lines: firstOf(
        named.map((name) => `- ${name}`),
        10,
        "file",
      ),
    },
  ]);
  return { kind: "report", text };
}

function hitsOf(seen: Seen): ReturnType<typeof parseHits> {
  return seen.ok ? parseHits(seen.text) : { hits: [], left: 0 };
}

function placeOf({ path, line }: Hit): string {
  return `${path}:${line}`;
}

function testsLast(left: Hit, right: Hit): number {
  return Number(isTest(left.path)) - Number(isTest(right.path));
}
