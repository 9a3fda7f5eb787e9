import { escapePattern } from "../jobs/definitions.ts";
import { type Page, pageText } from "../jobs/results.ts";
import { baseName } from "./languages.ts";

/** An entry of a manifest, with its file and line. */
export interface Fact {
  readonly where: string;
  readonly what: string;
  readonly detail: string;
}

export interface Manifest {
  readonly title?: string | undefined;
  readonly description?: Fact | undefined;
  readonly entries: readonly Fact[];
  readonly commands: readonly Fact[];
  readonly runners: readonly Fact[];
}

/** Most useful first. */
export const manifestNames: readonly string[] = [
  "package.json",
  "pyproject.toml",
  "Cargo.toml",
  "go.mod",
  "setup.py",
  "setup.cfg",
  "Makefile",
  "Dockerfile",
  "deno.json",
  "composer.json",
  "Gemfile",
  "pom.xml",
  "build.gradle",
  "build.gradle.kts",
  "mix.exs",
  "CMakeLists.txt",
  "justfile",
  "tox.ini",
];

export function readManifest(path: string, page: Page): Manifest {
  const name = baseName(path);
  if (name === "package.json" || name === "composer.json" || name === "deno.json") return fromJson(path, page);
  if (name.endsWith(".toml") || name.endsWith(".cfg") || name === "tox.ini") return fromToml(path, page);
  if (name === "Makefile" || name === "justfile") return fromTargets(path, page);
  return fromLines(path, page);
}

const testPrograms =
  /\b(vitest|jest|mocha|ava|tap|playwright|cypress|pytest|unittest|tox|nox|rspec|phpunit|node --test)\b/;

function fromJson(path: string, page: Page): Manifest {
  const manifest = parseObject(pageText(page));
  if (manifest === undefined) return { entries: [], commands: [], runners: [] };
  const at = (key: string, after = "") => `${path}:${lineOfKey(page, key, after)}`;
  const entries: Fact[] = [];
  for (const key of ["main", "module", "bin", "exports", "workspaces", "types"]) {
    const detail = describeValue(manifest[key]);
    if (detail !== "") entries.push({ where: at(key), what: key, detail });
  }
  const scripts = objectOf(manifest["scripts"] ?? manifest["tasks"]);
  const run = baseName(path) === "package.json" ? "npm run" : baseName(path) === "deno.json" ? "deno task" : "composer";
  const commands = Object.entries(scripts).map(([name, script]) => ({
    where: at(name, "scripts"),
    what: run === "npm run" && (name === "test" || name === "start") ? `npm ${name}` : `${run} ${name}`,
    detail: String(script),
  }));
  const packages = { ...objectOf(manifest["dependencies"]), ...objectOf(manifest["devDependencies"]) };
  const runners = Object.keys(packages)
    .filter((name) => testPrograms.test(name))
    .map((name) => ({ where: at(name, "ependencies"), what: name, detail: String(packages[name]) }));
  for (const { where, detail } of commands.filter(({ what }) => / test$/.test(what)))
    runners.push({ where, what: "test script", detail });
  const description = textOf(manifest["description"]);
  return {
    title: textOf(manifest["name"]),
    description:
      description === undefined ? undefined : { where: at("description"), what: "description", detail: description },
    entries,
    commands,
    runners,
  };
}

function fromToml(path: string, page: Page): Manifest {
  const entries: Fact[] = [];
  const runners: Fact[] = [];
  let section = "";
  const named: { title?: string; description?: Fact } = {};
  for (const { number, text } of page.lines) {
    const where = `${path}:${number}`;
    const header = /^\s*\[+([^\]]+)\]+/.exec(text);
    if (header) section = header[1] ?? "";
    if (header && testPrograms.test(section)) runners.push({ where, what: `[${section}]`, detail: "" });
    const pair = /^\s*"?([\w.-]+)"?\s*=\s*(.+)$/.exec(text);
    if (!pair?.[1] || header) continue;
    const value = (pair[2] ?? "").replace(/^["']|["'],?$/g, "");
    const top = section === "project" || section === "package" || section === "tool.poetry" || section === "metadata";
    if (top && pair[1] === "name") named.title ??= value;
    else if (top && pair[1] === "description") named.description ??= { where, what: "description", detail: value };
    else if (/scripts|entry_points|^bin$|^lib$/.test(section))
      entries.push({ where, what: `${section} ${pair[1]}`, detail: value });
    else if (section === "workspace" && pair[1] === "members")
      entries.push({ where, what: "workspace members", detail: value });
  }
  const cargo = baseName(path) === "Cargo.toml";
  if (cargo && named.title) runners.push({ where: `${path}:1`, what: "cargo test", detail: "" });
  const commands = cargo
    ? ["cargo build", "cargo test"].map((what) => ({ where: `${path}:1`, what, detail: "a Cargo manifest" }))
    : [];
  return { ...named, entries, commands, runners };
}

function fromTargets(path: string, page: Page): Manifest {
  const commands: Fact[] = [];
  const program = baseName(path) === "justfile" ? "just" : "make";
  for (const { number, text } of page.lines) {
    const target = /^([A-Za-z][\w-]*)\s*:(?!=)\s*(.*)$/.exec(text);
    if (target)
      commands.push({ where: `${path}:${number}`, what: `${program} ${target[1]}`, detail: recipeAfter(page, number) });
  }
  return { entries: [], commands, runners: [] };
}

function recipeAfter(page: Page, number: number): string {
  const next = page.lines.find((line) => line.number === number + 1)?.text ?? "";
  return /^\s+\S/.test(next) ? next.trim().replace(/^@/, "") : "";
}

const knownLines: readonly (readonly [RegExp, string])[] = [
  [/^module\s+(\S+)/, "Go module"],
  [/^(?:ENTRYPOINT|CMD)\s+(.+)/, "container runs"],
  [/^FROM\s+(.+)/, "container image"],
  [/^\s*(?:name|entry_points|console_scripts)\s*=\s*(.+?),?$/, "setup"],
  [/^\s*mainClass\s*(?:=|\.set)\s*(.+)/, "main class"],
  [/^\s*<(?:mainClass|artifactId)>([^<]+)/, "Maven"],
  [/^\s*add_executable\((.+?)\)?$/i, "CMake executable"],
];

function fromLines(path: string, page: Page): Manifest {
  const entries: Fact[] = [];
  for (const { number, text } of page.lines) {
    for (const [pattern, what] of knownLines) {
      const match = pattern.exec(text);
      if (match) entries.push({ where: `${path}:${number}`, what, detail: (match[1] ?? "").trim() });
    }
  }
  const first = entries.find(({ what }) => what === "Go module");
  if (!first) return { entries: entries.slice(0, 4), commands: [], runners: [] };
  const commands = ["go build ./...", "go test ./..."].map((what) => ({
    where: first.where,
    what,
    detail: "a Go module",
  }));
  return { title: first.detail, entries, commands, runners: [{ where: first.where, what: "go test", detail: "" }] };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function describeValue(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(String).join(", ");
  return Object.entries(objectOf(value))
    .map(([key, inner]) => (typeof inner === "string" ? `${key} → ${inner}` : key))
    .join(", ");
}

/** Returns the line of a key, below the line that contains `after`. */
function lineOfKey(page: Page, key: string, after: string): number {
  const has = (text: string, word: string) => text.includes(`"${word}"`) || text.includes(`${word}"`);
  const from =
    after === ""
      ? 0
      : Math.max(
          0,
          page.lines.findIndex(({ text }) => has(text, after)),
        );
  const found = page.lines.slice(from).find(({ text }) => new RegExp(`"${escapePattern(key)}"\\s*:`).test(text));
  return found?.number ?? 1;
}
