import { escapePattern } from "../../jobs/definitions.ts";
import { type Page, pageText } from "../../jobs/results.ts";
import { emptyManifest, type Fact, type Manifest, type ManifestSource } from "./manifest.ts";

export function readPackageJson({ path, page, beside }: ManifestSource): Manifest {
  const json = parseObject(pageText(page));
  const at = (key: string, after = "") => `${path}:${lineOfKey(page, key, after)}`;
  const manager = managerOf(json, beside);
  const { workspaces } = json;
  const members = stringsIn(Array.isArray(workspaces) ? workspaces : objectOf(workspaces)["packages"]);
  const needsInstall = ["dependencies", "devDependencies"].some((key) => json[key] !== undefined) || members.length > 0;
  const scripts = objectOf(json["scripts"]);
  const commands = Object.keys(scripts)
    .filter((name) => !isLifecycle(name, scripts))
    .map((name) => fact(at(name, "scripts"), runScript(manager.name, name), scripts[name]));
  return {
    ...described(path, json, at),
    entries: ["main", "bin", "exports"].flatMap((key) => {
      const detail = targetsOf(json[key]);
      return detail === "" ? [] : [fact(at(key), key, detail)];
    }),
    commands: [...(needsInstall ? [fact(manager.where ?? path, `${manager.name} install`)] : []), ...commands],
    members,
  };
}

export function readComposer({ path, page }: ManifestSource): Manifest {
  const json = parseObject(pageText(page));
  const at = (key: string, after = "") => `${path}:${lineOfKey(page, key, after)}`;
  const scripts = objectOf(json["scripts"]);
  const commands = Object.entries(scripts)
    .filter(([name]) => !/^(pre|post)-/.test(name))
    .map(([name, script]) => fact(at(name, "scripts"), `composer ${name}`, script));
  return { ...described(path, json, at), commands: [fact(path, "composer install"), ...commands] };
}

export function readDeno({ path, page }: ManifestSource): Manifest {
  const json = parseObject(pageText(page));
  const at = (key: string, after = "") => `${path}:${lineOfKey(page, key, after)}`;
  const tasks = Object.entries(objectOf(json["tasks"]));
  return {
    ...described(path, json, at),
    commands: tasks.map(([name, task]) => fact(at(name, "tasks"), `deno task ${name}`, task)),
    members: stringsIn(json["workspace"]),
  };
}

function described(path: string, json: Readonly<Record<string, unknown>>, at: (key: string) => string): Manifest {
  const { name, description } = json;
  return {
    ...emptyManifest(path),
    title: typeof name === "string" && name !== "" ? name : undefined,
    description:
      typeof description === "string" && description !== ""
        ? fact(at("description"), "description", description)
        : undefined,
  };
}

const locks: readonly (readonly [string, string])[] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["pnpm-workspace.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];

/** Returns the package manager and the file that names it. */
function managerOf(
  json: Readonly<Record<string, unknown>>,
  beside: ReadonlySet<string>,
): { readonly name: string; readonly where?: string | undefined } {
  const named = /^(npm|pnpm|yarn|bun)@/.exec(String(json["packageManager"]))?.[1];
  if (named !== undefined) return { name: named };
  const [where, name = "npm"] = locks.find(([lock]) => beside.has(lock)) ?? [];
  return { name, where };
}

function runScript(manager: string, name: string): string {
  // `bun test` runs bun's own test runner instead of the script.
  const isShort = manager !== "bun" && (name === "test" || name === "start");
  return isShort ? `${manager} ${name}` : `${manager} run ${name}`;
}

/** Returns true if a script runs automatically, before or after another script or an installation. */
function isLifecycle(name: string, scripts: Readonly<Record<string, unknown>>): boolean {
  if (/^(prepare|prepack|postpack|prepublish(Only)?|(pre|post)(install|version|publish))$/.test(name)) return true;
  const other = /^(?:pre|post)(.+)$/.exec(name)?.[1];
  return other !== undefined && scripts[other] !== undefined;
}

function fact(where: string, what: string, detail: unknown = ""): Fact {
  return { where, what, detail: Array.isArray(detail) ? detail.map(String).join(" && ") : String(detail) };
}

/** Returns `greet → cli.js` for each name, or only the name if it has several targets. */
function targetsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Object.entries(objectOf(value))
    .filter(([name]) => name !== "./package.json")
    .map(([name, target]) => (typeof target === "string" ? `${name} → ${target}` : name))
    .join(", ");
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Returns the line number of a key. The search starts at the key `after`, or at the top if `after` is empty. */
function lineOfKey({ lines }: Page, key: string, after: string): number {
  const lineOf = (name: string, from: number) => {
    const form = new RegExp(`"${escapePattern(name)}"\\s*:`);
    return lines.findIndex(({ text }, index) => index >= from && form.test(text));
  };
  const from = after === "" ? 0 : Math.max(0, lineOf(after, 0));
  return lines[lineOf(key, from)]?.number ?? 1;
}
