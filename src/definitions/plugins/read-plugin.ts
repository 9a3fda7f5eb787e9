import { readFileSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { parseJsonc } from "../../lib/index.ts";
import type { Diagnostic, JsonObject } from "../../protocol/index.ts";
import { checkManifest, type PluginManifest } from "./manifest.ts";
import { readPluginTree } from "./plugin-tree.ts";

export interface Plugin extends PluginManifest {
  readonly root: string;
  /** Hash of all paths and contents, which an approval is bound to. */
  readonly hash: string;
  /** Absolute paths, sorted. */
  readonly agentFiles: readonly string[];
  readonly skillFiles: readonly string[];
  readonly hooks?: JsonObject;
  readonly mcpServers?: JsonObject;
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
    const fix = "Replace it with a plain file, or take it out of the plugin.";
    return refuse(root, { code: "plugin_refused", message: `The plugin is refused: ${tree.problem}.`, fix });
  }
  const manifestFile = manifestNames.find((name) => tree.files.includes(name));
  if (manifestFile === undefined) {
    const fix = `Add ${manifestNames[0]} with at least {"name": "…"}.`;
    return refuse(root, { code: "no_manifest", message: "There is no manifest of a plugin.", fix });
  }
  const file = join(root, manifestFile);
  const parsed = parseJsonc(readFileSync(file, "utf8"));
  if ("error" in parsed) {
    const { line, message } = parsed.error;
    return refuse(file, { line, code: "manifest_syntax", message: `The manifest can't be read: ${message}.` });
  }
  const checked = checkManifest(parsed.value, file);
  if (checked.manifest === undefined) return { diagnostics: checked.diagnostics };
  const diagnostics = [...checked.diagnostics];
  const contents = { root, files: tree.files, raw: checked.raw, report: (each: Diagnostic) => diagnostics.push(each) };
  const plugin: Plugin = {
    ...checked.manifest,
    root,
    hash: tree.hash,
    agentFiles: pathsOf(contents, "agents").filter((each) => each.endsWith(".md")),
    skillFiles: pathsOf(contents, "skills").filter((each) => each.endsWith("/SKILL.md")),
    ...jsonOf(contents, { key: "hooks", standard: "hooks/hooks.json", manifest: file }),
    ...jsonOf(contents, { key: "mcpServers", standard: ".mcp.json", manifest: file }),
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

/** Returns the files of the standard directory and of the paths in the manifest. */
function pathsOf({ root, files, raw, report }: Contents, key: "agents" | "skills"): string[] {
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

/** Reads a configuration from the manifest, from the file it names, or from the standard file. */
function jsonOf(
  { root, files, raw, report }: Contents,
  { key, standard, manifest }: { key: "hooks" | "mcpServers"; standard: string; manifest: string },
): { readonly [each in "hooks" | "mcpServers"]?: JsonObject } {
  const named = raw[key] ?? (files.includes(standard) ? standard : undefined);
  if (named === undefined) return {};
  if (isObject(named)) return { [key]: named };
  const path = typeof named === "string" ? insidePath(named) : undefined;
  if (path === undefined) {
    report(leavesRoot(manifest, JSON.stringify(named)));
    return {};
  }
  const file = join(root, path);
  const unread = (message: string, line = 1): object => {
    report({ severity: "warning", file, line, code: `${key}_unread`, message });
    return {};
  };
  if (!files.includes(path)) return unread(`The manifest names ${path} for ${key}, and it is not there.`);
  const parsed = parseJsonc(readFileSync(file, "utf8"));
  if ("error" in parsed) return unread(`${key} can't be read: ${parsed.error.message}.`, parsed.error.line);
  const value = isObject(parsed.value) && isObject(parsed.value[key]) ? parsed.value[key] : parsed.value;
  return isObject(value) ? { [key]: value } : unread(`${key} must be an object.`);
}

/** Normalises a relative path that stays inside the plugin. Returns undefined for any other path. */
function insidePath(path: string): string | undefined {
  const variable = path.replace(/^\$\{(CLAUDE|RETINUE)_PLUGIN_ROOT\}\//, "./");
  if (isAbsolute(variable) || /[\0\\]/.test(variable) || variable.split("/").includes("..")) return undefined;
  return normalize(variable).replace(/\/$/, "");
}

function leavesRoot(file: string, path: string): Diagnostic {
  const message = `The path ${path} leads out of the plugin, or is none; it is ignored.`;
  return { severity: "warning", file, line: 1, code: "path_outside", message, fix: 'Write it as "./path".' };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
