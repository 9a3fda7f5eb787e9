import { createHash } from "node:crypto";
import { type Dirent, lstatSync, readdirSync, readFileSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { formatBytes, formatCount, isRecord, parseJsonc } from "../../lib/index.ts";
import type { Diagnostic, JsonObject } from "../../protocol/index.ts";

export interface PluginDependency {
  readonly name: string;
  readonly version?: string | undefined;
}

export interface PluginManifest {
  readonly name: string;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly dependencies: readonly PluginDependency[];
}

export interface Plugin extends PluginManifest {
  readonly root: string;
  /** Hash of all paths and contents. An approval is valid only for this hash. */
  readonly hash: string;
  /** Absolute paths, sorted. */
  readonly agentFiles: readonly string[];
  readonly skillFiles: readonly string[];
  /** Prompts that are loaded as skills. */
  readonly commandFiles: readonly string[];
  readonly hooks?: JsonObject;
  readonly mcpServers?: JsonObject;
  /** Where hooks and MCP servers are written, for messages. */
  readonly sources: { readonly [part in "hooks" | "mcpServers"]?: PartSource };
}

/** The file that contains a part of a plugin, and the keys that lead to the part. */
export interface PartSource {
  readonly file: string;
  readonly keys: readonly string[];
}

export interface ReadPlugin {
  /** Undefined if the plugin can't be used. */
  readonly plugin?: Plugin;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads a plugin's directory without running anything. Never throws. */
export function readPlugin(root: string): ReadPlugin {
  const refuse = (file: string, issue: Refusal): ReadPlugin => ({
    diagnostics: [{ severity: "error", file, line: issue.line ?? 1, ...issue }],
  });
  const tree = readPluginTree(root);
  if (!tree.ok) {
    const fix = "Replace it with a plain file, or remove it from the plugin.";
    return refuse(root, { code: "plugin_refused", message: `The plugin is rejected: ${tree.problem}.`, fix });
  }
  const manifestFile = manifestNames.find((name) => tree.files.includes(name));
  if (manifestFile === undefined) {
    const fix = `Add ${manifestNames[0]} with at least {"name": "…"}.`;
    return refuse(root, { code: "no_manifest", message: "The directory has no plugin manifest.", fix });
  }
  const file = join(root, manifestFile);
  const parsed = parseJsonc(readFileSync(file, "utf8"));
  if ("error" in parsed) {
    const { line, message } = parsed.error;
    return refuse(file, { line, code: "manifest_syntax", message: `The manifest can't be read: ${message}.` });
  }
  const checked = checkManifest(parsed.value, { file, files: tree.files });
  if (checked.manifest === undefined) return { diagnostics: checked.diagnostics };
  const diagnostics = [...checked.diagnostics];
  const contents = { root, files: tree.files, raw: checked.raw, report: (each: Diagnostic) => diagnostics.push(each) };
  const hooks = jsonOf(contents, { key: "hooks", standard: "hooks/hooks.json", manifest: file });
  const servers = jsonOf(contents, { key: "mcpServers", standard: ".mcp.json", manifest: file });
  const plugin: Plugin = {
    ...checked.manifest,
    root,
    hash: tree.hash,
    agentFiles: pathsOf(contents, "agents").filter((each) => each.endsWith(".md")),
    skillFiles: pathsOf(contents, "skills").filter((each) => each.endsWith("/SKILL.md")),
    commandFiles: pathsOf(contents, "commands").filter((each) => each.endsWith(".md")),
    ...(hooks && { hooks: hooks.value }),
    ...(servers && { mcpServers: servers.value }),
    sources: { ...(hooks && { hooks: hooks.source }), ...(servers && { mcpServers: servers.source }) },
  };
  return { plugin, diagnostics };
}

const manifestNames = [join(".retinue-plugin", "plugin.json"), join(".claude-plugin", "plugin.json")];

interface Refusal {
  readonly line?: number;
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

interface Contents {
  readonly root: string;
  readonly files: readonly string[];
  readonly raw: Readonly<Record<string, unknown>>;
  readonly report: (diagnostic: Diagnostic) => void;
}

/** Returns the files in the standard directory and at the paths in the manifest. */
function pathsOf({ root, files, raw, report }: Contents, key: "agents" | "skills" | "commands"): string[] {
  const named = raw[key];
  const paths = [key, ...(Array.isArray(named) ? named : named === undefined ? [] : [named])];
  const chosen = new Set<string>();
  for (const path of paths) {
    const inside = typeof path === "string" ? insidePath(path) : undefined;
    if (inside === undefined) report(leavesRoot(join(root, key), JSON.stringify(path)));
    else for (const file of files) if (isBelow(file, inside)) chosen.add(file);
  }
  return [...chosen].sort().map((file) => join(root, file));
}

function isBelow(file: string, path: string): boolean {
  return path === "." || file === path || file.startsWith(`${path}/`);
}

/** Reads a configuration from the manifest, from the file that the manifest names, or from the standard file. */
function jsonOf(
  { root, files, raw, report }: Contents,
  { key, standard, manifest }: { key: "hooks" | "mcpServers"; standard: string; manifest: string },
): { readonly value: JsonObject; readonly source: PartSource } | undefined {
  const named = raw[key] ?? (files.includes(standard) ? standard : undefined);
  if (named === undefined) return undefined;
  if (isObject(named)) return { value: named, source: { file: manifest, keys: [key] } };
  const path = typeof named === "string" ? insidePath(named) : undefined;
  if (path === undefined) {
    report(leavesRoot(manifest, JSON.stringify(named)));
    return undefined;
  }
  const file = join(root, path);
  const unread = (message: string, line = 1): undefined => {
    report({ severity: "warning", file, line, code: `${key}_unread`, message });
  };
  if (!files.includes(path)) return unread(`The manifest names ${path} for ${key}, but that file does not exist.`);
  const parsed = parseJsonc(readFileSync(file, "utf8"));
  if ("error" in parsed) return unread(`${key} can't be read: ${parsed.error.message}.`, parsed.error.line);
  if (!isObject(parsed.value)) return unread(`${key} must be an object.`);
  const inner = parsed.value[key];
  if (isObject(inner)) return { value: inner, source: { file, keys: [key] } };
  return { value: parsed.value, source: { file, keys: [] } };
}

/** Normalizes a relative path that stays inside the plugin. Returns undefined for any other path. */
function insidePath(path: string): string | undefined {
  const variable = path.replace(/^\$\{(CLAUDE|RETINUE)_PLUGIN_ROOT\}\//, "./");
  if (isAbsolute(variable) || /[\0\\]/.test(variable) || variable.split("/").includes("..")) return undefined;
  return normalize(variable).replace(/\/$/, "");
}

function leavesRoot(file: string, path: string): Diagnostic {
  const message = `The path ${path} is invalid or leads out of the plugin; it is ignored.`;
  return {
    severity: "warning",
    file,
    line: 1,
    code: "path_outside",
    message,
    fix: 'Use a path inside the plugin, such as "./path".',
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface CheckedManifest {
  readonly manifest?: PluginManifest;
  readonly raw: Readonly<Record<string, unknown>>;
  readonly diagnostics: readonly Diagnostic[];
}

function checkManifest(
  value: unknown,
  { file, files }: { readonly file: string; readonly files: readonly string[] },
): CheckedManifest {
  const error = (code: string, message: string, fix: string): CheckedManifest => ({
    raw: {},
    diagnostics: [{ severity: "error", file, line: 1, code, message, fix }],
  });
  if (!isRecord(value)) return error("manifest_shape", "The manifest is not an object.", 'Write {"name": "…"}.');
  const raw = value;
  const { name, version, description } = raw;
  if (typeof name !== "string" || !isPluginName(name)) {
    const fix = "Use lowercase letters, digits and hyphens, at most 64 characters.";
    const message = name === undefined ? "The plugin has no name." : `The name ${JSON.stringify(name)} is not valid.`;
    return error("plugin_name", message, fix);
  }
  const unsupported = [
    ...Object.keys(raw).filter((key) => !known.has(key)),
    ...unsupportedPaths.filter((path) => files.some((each) => each === path || each.startsWith(path))),
  ];
  const message = `Parts of the plugin "${name}" that are not supported and have no effect: ${unsupported.join(", ")}.`;
  const notice: Diagnostic = { severity: "notice", file, line: 1, code: "unsupported_parts", message };
  return {
    raw,
    manifest: {
      name,
      version: textOf(version),
      description: textOf(description),
      dependencies: dependenciesOf(raw["dependencies"]),
    },
    diagnostics: unsupported.length === 0 ? [] : [notice],
  };
}

/** Returns true for a valid plugin name, which becomes a directory name and the prefix of the plugin's agents. */
export function isPluginName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,63}$/.test(name);
}

const known = new Set(
  "name displayName version description author homepage repository license keywords metadata agents skills commands hooks mcpServers dependencies".split(
    " ",
  ),
);

/** Standard paths of plugin parts that other programs support, but Retinue does not. */
const unsupportedPaths = ["output-styles/", "workflows/", "themes/", "monitors/", ".lsp.json"];

/** Reads dependencies in the form `["a", "b@^1"]`, `[{name, version}]` or `{"a": "^1"}`. */
function dependenciesOf(value: unknown): PluginDependency[] {
  if (Array.isArray(value)) return value.flatMap(dependencyOf);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, version]) => dependencyOf({ name, version }));
}

function dependencyOf(value: unknown): PluginDependency[] {
  if (typeof value === "string") {
    const [name = "", version] = value.split(/@(?=[^@]*$)/);
    return name === "" ? [] : [{ name, version: version || undefined }];
  }
  if (typeof value !== "object" || value === null) return [];
  const { name, version } = value as { name?: unknown; version?: unknown };
  if (typeof name !== "string") return [];
  return [{ name, version: textOf(version) }];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

type PluginTree =
  /** `files` contains sorted relative paths with `/`, and `hash` is a hash of all paths and contents. */
  | { readonly ok: true; readonly files: readonly string[]; readonly hash: string }
  | { readonly ok: false; readonly problem: string };

const maxFiles = 5_000;
const maxBytes = 50 * 1024 * 1024;
const maxDepth = 16;

/**
 * Reads a plugin's directory, except `.git`. Refuses symlinks, devices and directories that are too large, because a
 * plugin must not reach outside its directory, and its content must be what was approved. Never throws.
 */
export function readPluginTree(root: string): PluginTree {
  try {
    const files = listFiles(root);
    const hash = createHash("sha256");
    for (const file of files) {
      const content = readFileSync(join(root, file));
      hash.update(`${Buffer.byteLength(file)}:${content.length}:${file}\n`).update(content);
    }
    return { ok: true, files, hash: hash.digest("hex") };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

function listFiles(root: string): string[] {
  const files: string[] = [];
  const open = [{ directory: root, relative: "", depth: 0 }];
  let bytes = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > maxDepth) throw new Error(`${next.relative} is nested more than ${maxDepth} levels deep`);
    for (const entry of readdirSync(next.directory, { withFileTypes: true })) {
      if (entry.name === ".git") continue;
      const path = join(next.directory, entry.name);
      const relative = next.relative === "" ? entry.name : `${next.relative}/${entry.name}`;
      const kind = kindOf(entry, path);
      if (kind === "directory") open.push({ directory: path, relative, depth: next.depth + 1 });
      else if (kind === "file") {
        files.push(relative);
        bytes += lstatSync(path).size;
      } else throw new Error(`${relative} is ${kind}: a plugin may contain only files and directories`);
      if (files.length > maxFiles) throw new Error(`it contains more than ${formatCount(maxFiles)} files`);
      if (bytes > maxBytes) throw new Error(`it contains more than ${formatBytes(maxBytes)}`);
    }
  }
  return files.sort();
}

function kindOf(entry: Dirent, path: string): "file" | "directory" | "a link" | "a special file" {
  // Some file systems do not report the kind of an entry.
  const kind = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() ? entry : lstatSync(path);
  if (kind.isFile()) return "file";
  if (kind.isDirectory()) return "directory";
  return kind.isSymbolicLink() ? "a link" : "a special file";
}
