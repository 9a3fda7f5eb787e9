import { plural } from "../../lib/index.ts";
import { anyDefinitionPattern } from "./definitions.ts";
import { askAll, grep, type Job, read, type Seen } from "./job.ts";
import { isTest, languageOf } from "./languages.ts";
import { leadingComment } from "./leading-comment.ts";
import { clip, compose, firstOf, rows } from "./report.ts";
import { parseCounts, parseHits, parseListing, parsePage } from "./results.ts";
import { countLines, foreignGlob, joinPath } from "./survey-files.ts";

const maxRead = 14;

/** What stands in a directory and what its files say about themselves. */
export function* summariseDirectory(path: string, seen: Seen): Job {
  const { directories, files, left } = parseListing(seen.text);
  const readme = files.find(({ name }) => /^readme(\.\w+)?$/i.test(name))?.name;
  const source = files
    .filter(({ name }) => languageOf(name)?.isCode && !isTest(joinPath(path, name)))
    .map(({ name }) => name);
  const doors = source.filter((name) => /^(index|main|mod|lib|__init__|cli|app)\./.test(name));
  const chosen = [...(readme ? [readme] : []), ...new Set([...doors, ...source])].slice(0, maxRead);
  const [counted, defined, ...pages] = yield* askAll(`Reading what the files of ${path} say about themselves.`, [
    countLines(path),
    grep(anyDefinitionPattern, { path, glob: foreignGlob, output_mode: "content", head_limit: 250 }),
    ...chosen.map((name) => read(joinPath(path, name), 30)),
  ]);
  const counts = parseCounts(counted?.ok ? counted.text : "");
  const lines = new Map(counts.files.map((file) => [file.path, file.count]));
  const exported = exportsByFile(defined);
  const comments = new Map(chosen.map((name, index) => [name, commentOf(pages[index])]));
  const cells = files.map(({ name, size }) => {
    const file = joinPath(path, name);
    const amount = lines.get(file);
    const about = comments.get(name) || (exported.get(file) ?? []).join(", ");
    return [name, amount === undefined ? size : plural(amount, "line"), clip(about, 100)];
  });
  const inner = directories.map((name) => {
    const below = counts.files.filter((file) => file.path.startsWith(`${joinPath(path, name)}/`));
    return [
      `${name}/`,
      plural(below.length, "file"),
      plural(
        below.reduce((sum, file) => sum + file.count, 0),
        "line",
      ),
    ];
  });
  const cut = left > 0 ? [`- and ${left} more that the listing left out`] : [];
  const text = compose(`${path}: ${plural(counts.totalFiles, "text file")}, ${plural(counts.totalLines, "line")}`, [
    {
      heading: "What it says about itself",
      lines: ownWords(pages[0]),
    },
    { heading: "Directories", lines: firstOf(rows(inner), 20, "directory") },
    { heading: "Files", lines: [...firstOf(rows(cells), 40, "file"), ...cut] },
  ]);
  return { kind: "report", text };
}

function exportsByFile(seen: Seen | undefined): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { path, text } of seen?.ok ? parseHits(seen.text).hits : []) {
    const name =
      /(?:function\*?|class|interface|type|enum|struct|trait|def|fn|func|fun|const|let|var|module|object|record|mod)\s+(?:\([^)]*\)\s*)?([\w$]+)/.exec(
        text,
      )?.[1];
    if (name !== undefined) found.set(path, [...(found.get(path) ?? []), name]);
  }
  return found;
}

function commentOf(seen: Seen | undefined): string {
  if (!seen?.ok) return "";
  return leadingComment(parsePage(seen.text))
    .map(({ text }) => text)
    .join(" ");
}

/** The beginning of its README, or of the file that speaks for the others. */
function ownWords(seen: Seen | undefined): string[] {
  const path = String(seen?.call.input["file_path"]);
  if (!seen?.ok || !/(^|\/)(readme|index|mod|lib|__init__)(\.\w+)?$/i.test(path)) return [];
  const page = parsePage(seen.text);
  const isReadme = /(^|\/)readme/i.test(path);
  const telling = isReadme
    ? page.lines.filter(({ text }) => /^(#+ )?[A-Za-z*`]/.test(text)).slice(0, 4)
    : leadingComment(page);
  return telling.map(({ number, text }) => `- ${path}:${number}  ${clip(text.replace(/^#+ /, ""), 200)}`);
}
