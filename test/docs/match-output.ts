/** Describes how the shown output differs from the printed output. Returns undefined if they match. */
export function mismatch(shown: string, printed: string, { language, figures }: Format): string | undefined {
  if (language === "json") return mismatchOfJson(JSON.parse(shown), JSON.parse(printed), "");
  if (language === "jsonl") return mismatchOfLines(shown, printed, jsonLineFits);
  return mismatchOfLines(shown, printed, figures ? fitsApartFromFigures : fits);
}

interface Format {
  readonly language: string;
  /** Whether any figure matches any other, and any id of an agent any other. */
  readonly figures?: boolean | undefined;
}

/** All lines must match in order. A line that contains only `…` matches any number of printed lines. */
function mismatchOfLines(
  shown: string,
  printed: string,
  same: (shown: string, printed: string) => boolean,
): string | undefined {
  const lines = printed.trimEnd().split("\n");
  let at = 0;
  let mayPass = false;
  for (const line of shown.trimEnd().split("\n")) {
    if (line.trim() === "…") {
      mayPass = true;
      continue;
    }
    const found = lines.findIndex((each, index) => index >= at && same(line, each));
    if (found === -1 || (!mayPass && found !== at)) return `"${line}" is not at line ${at + 1} of:\n${printed}`;
    at = found + 1;
    mayPass = false;
  }
  return mayPass || at === lines.length ? undefined : `more was printed than is shown:\n${printed}`;
}

/** `…` matches any text within a line. */
function fits(shown: string, printed: string): boolean {
  const parts = shown.trimEnd().split("…");
  const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[^\\n]*");
  return new RegExp(`^${pattern}$`).test(printed.trimEnd());
}

/** Also matches figures and agents' ids that differ. */
function fitsApartFromFigures(shown: string, printed: string): boolean {
  const generalize = (line: string): string =>
    line
      .replace(/\ba[a-z0-9]{12}\b/g, "ID")
      .replace(/\d[\d,.]*/g, "0")
      .replace(/0 ?(?:ms|s|min)\b/g, "TIME");
  return fits(generalize(shown), generalize(printed));
}

function jsonLineFits(shown: string, printed: string): boolean {
  return mismatchOfJson(JSON.parse(shown), JSON.parse(printed), "") === undefined;
}

/** Objects must have the same keys unless the shown one has the key `…`. Numbers vary, so any number matches. */
function mismatchOfJson(shown: unknown, printed: unknown, path: string): string | undefined {
  const differs = `${path || "the value"} is shown as ${JSON.stringify(shown)} but was ${JSON.stringify(printed)}`;
  if (typeof shown === "string" && shown === "…") return undefined;
  if (typeof shown !== typeof printed || (shown === null) !== (printed === null)) return differs;
  if (Array.isArray(shown) !== Array.isArray(printed)) return differs;
  if (typeof shown === "string") return fits(shown, String(printed).replaceAll("\n", " ")) ? undefined : differs;
  if (typeof shown === "number") return undefined;
  if (typeof shown !== "object" || shown === null) return shown === printed ? undefined : differs;
  const wanted = shown as Record<string, unknown>;
  const there = printed as Record<string, unknown>;
  const keys = Object.keys(wanted).filter((key) => key !== "…");
  const missing = keys.find((key) => !(key in there));
  if (missing !== undefined) return `${path}.${missing} is shown but was not printed`;
  const hidden = Object.keys(there).find((key) => !(key in wanted));
  const open = "…" in wanted || (Array.isArray(shown) && shown.at(-1) === "…");
  if (hidden !== undefined && !open) return `${path}.${hidden} was printed but is not shown`;
  for (const key of keys) {
    const problem = mismatchOfJson(wanted[key], there[key], `${path}.${key}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
