import type { Page } from "../../jobs/results.ts";
import { baseName } from "../languages.ts";
import { emptyManifest, type Fact, type Manifest, type ManifestSource } from "./manifest.ts";

interface TomlEntry {
  readonly section: string;
  readonly key: string;
  /** The text of a string, or of each string in an array. Other values are kept as written. */
  readonly values: readonly string[];
  readonly line: number;
}

/** Reads sections with keys, strings and arrays of strings. Skips all other TOML syntax, including invalid lines. */
export function parseToml({ lines }: Page): readonly TomlEntry[] {
  const entries: TomlEntry[] = [];
  let section = "";
  for (let index = 0; index < lines.length; index += 1) {
    const { text = "", number = 0 } = lines[index] ?? {};
    const header = /^\s*\[{1,2}([^[\]]+)\]{1,2}\s*(#.*)?$/.exec(text)?.[1];
    if (header !== undefined) {
      section = header.trim().replaceAll('"', "");
      entries.push({ section, key: "", values: [], line: number });
      continue;
    }
    const pair = /^\s*(?:"([^"]+)"|'([^']+)'|([\w.-]+))\s*=\s*(.*)$/.exec(text);
    if (!pair) continue;
    let value = pair[4] ?? "";
    const closing = closingOf(value);
    const start = index;
    while (closing !== undefined && !closing(value) && index + 1 < lines.length && index - start < 200) {
      index += 1;
      value += `\n${lines[index]?.text}`;
    }
    entries.push({ section, key: pair[1] ?? pair[2] ?? pair[3] ?? "", values: valuesOf(value), line: number });
  }
  return entries;
}

/** Returns a predicate that recognizes the end of a value; undefined if the value can't span several lines. */
function closingOf(value: string): ((text: string) => boolean) | undefined {
  const quote = /^("""|''')/.exec(value)?.[1];
  if (quote !== undefined) return (text) => text.indexOf(quote, 3) >= 0;
  return value.startsWith("[") ? (text) => openBrackets(text) <= 0 : undefined;
}

/** Matches a string or a comment. */
const token = /"([^"\n]*)"|'([^'\n]*)'|#[^\n]*/g;

function openBrackets(text: string): number {
  const marks = text.replace(token, "");
  return marks.split("[").length - marks.split("]").length;
}

function valuesOf(value: string): string[] {
  const long = /^("""|''')([\s\S]*?)(?:\1|$)/.exec(value)?.[2];
  if (long !== undefined) return [long.replace(/\\?\s+/g, " ").trim()];
  if (!value.startsWith("[")) return [/^(["'])(.*?)\1/.exec(value)?.[2] ?? value.replace(/(?<!\s)\s+#.*$/, "").trim()];
  return [...value.matchAll(token)].flatMap((found) => found[1] ?? found[2] ?? []);
}

export function readCargo({ path, page }: ManifestSource): Manifest {
  const entries = parseToml(page);
  const binaries = entries.filter(({ section, key }) => section === "bin" && key === "name");
  return {
    ...described(path, entries, ["package"]),
    entries: binaries.map((entry) => fact(path, entry, "binary")),
    commands: ["cargo build", "cargo test"].map((what) => ({ where: path, what, detail: "" })),
    members: valuesAt(entries, "workspace", "members"),
  };
}

const pythonManagers: readonly (readonly [string, { readonly install: string; readonly run: string }])[] = [
  ["uv.lock", { install: "uv sync", run: "uv run " }],
  ["poetry.lock", { install: "poetry install", run: "poetry run " }],
  ["pdm.lock", { install: "pdm install", run: "pdm run " }],
];

export function readPyproject({ path, page, beside }: ManifestSource): Manifest {
  const entries = parseToml(page);
  const manifest = described(path, entries, ["project", "tool.poetry"]);
  const [where, manager] = pythonManagers.find(([lock]) => beside.has(lock)) ?? [];
  const scripts = entries.filter(
    ({ section, key }) => key !== "" && /^(project|tool\.poetry)\.(gui-)?scripts$/.test(section),
  );
  const pytest = entries.find(
    ({ section, values }) => /^tool\.pytest/.test(section) || values.some((value) => /^pytest\b/.test(value)),
  );
  const install = { where: where ?? path, what: manager?.install ?? "pip install -e .", detail: "" };
  return {
    ...manifest,
    entries: scripts.map((entry) => fact(path, entry, `command ${entry.key}`)),
    commands: [
      ...(manifest.title === undefined ? [] : [install]),
      ...(pytest ? [{ where: `${path}:${pytest.line}`, what: `${manager?.run ?? ""}pytest`, detail: "" }] : []),
    ],
    members: valuesAt(entries, "tool.uv.workspace", "members"),
  };
}

/** Reads setup.cfg or setup.py. From setup.py, reads only values that are on separate lines. */
export function readSetup({ path, page }: ManifestSource): Manifest {
  const isScript = baseName(path) === "setup.py";
  const entries = parseToml(page).filter(({ section }) => isScript || section === "metadata");
  const manifest = described(path, entries, ["", "metadata"]);
  return { ...manifest, commands: [{ where: path, what: "pip install -e .", detail: "" }] };
}

function described(path: string, entries: readonly TomlEntry[], sections: readonly string[]): Manifest {
  const find = (name: string) =>
    entries.find(({ section, key, values }) => sections.includes(section) && key === name && isLiteral(values[0]));
  const description = find("description");
  return {
    ...emptyManifest(path),
    title: find("name")?.values[0],
    description: description && fact(path, description, "description"),
  };
}

/** Returns true if a value is written literally, rather than computed or read from another file. */
function isLiteral(value: string | undefined): boolean {
  return value !== undefined && value !== "" && !/^[\w.]+\(|^\{|^file:|^attr:/.test(value);
}

function fact(path: string, { values, line }: TomlEntry, what: string): Fact {
  return { where: `${path}:${line}`, what, detail: values.join(", ") };
}

function valuesAt(entries: readonly TomlEntry[], section: string, key: string): readonly string[] {
  return entries.find((entry) => entry.section === section && entry.key === key)?.values ?? [];
}
