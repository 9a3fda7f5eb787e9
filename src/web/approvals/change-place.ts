import { canonicalToolName, type Line, type ResultBlock } from "../../protocol/index.ts";
import { linesOf } from "../parts/diff-lines.ts";

/** A line of a file that an agent has seen. */
interface SeenLine {
  readonly number: number;
  readonly text: string;
}

/**
 * Returns the number of the line at which `text` begins in a file, based on what the agent last read or changed there.
 * Undefined if the position is ambiguous. The result is reliable because an agent can edit only text that it has read,
 * and only if the file has not changed since.
 */
export function placeOf(text: string, path: string, lines: readonly Line[]): number | undefined {
  for (const line of lines.toReversed()) {
    if (line.type !== "tool.ended" || line.result.outcome !== "ok") continue;
    const { content, details } = line.result;
    if (typeof details?.["path"] !== "string" || !isSameFile(details["path"], path)) continue;
    const { diff } = details;
    // A change may have moved the lines that were read before it.
    if (typeof diff === "string") return onlyPlace(text, changedPart(diff));
    const place = canonicalToolName(line.name) === "Read" ? onlyPlace(text, readPart(content)) : undefined;
    if (place !== undefined) return place;
  }
  return undefined;
}

function isSameFile(one: string, other: string): boolean {
  return one === other || other.endsWith(`/${one}`) || one.endsWith(`/${other}`);
}

function changedPart(diff: string): readonly SeenLine[] {
  return linesOf(diff).flatMap(({ after, text }) => (after === undefined ? [] : [{ number: after, text }]));
}

/** Returns the lines in a result of the Read tool, which are numbered. */
function readPart(content: readonly ResultBlock[]): readonly SeenLine[] {
  const texts = content.flatMap((block) => (block.type === "text" ? block.text.split("\n") : []));
  return texts.flatMap((line) => {
    const [, number, text] = /^ *(\d+)\t(.*)$/.exec(line) ?? [];
    return number === undefined || text === undefined ? [] : [{ number: Number(number), text }];
  });
}

/** Returns the number of the only line at which the text begins. The text may begin and end within lines. */
function onlyPlace(text: string, seen: readonly SeenLine[]): number | undefined {
  const wanted = text.split("\n");
  const last = wanted.length - 1;
  const matches = (line: string | undefined, index: number): boolean => {
    const part = wanted[index] ?? "";
    if (line === undefined) return false;
    if (last === 0) return line.includes(part);
    if (index === 0) return line.endsWith(part);
    // Text that ends with a line break ends before the next line.
    return index === last ? line.startsWith(part) : line === part;
  };
  const places = seen.filter((first, from) =>
    wanted.every((part, index) => {
      const line = seen[from + index];
      if (index === last && index > 0 && part === "") return true;
      return line?.number === first.number + index && matches(line.text, index);
    }),
  );
  return places.length === 1 ? places[0]?.number : undefined;
}
