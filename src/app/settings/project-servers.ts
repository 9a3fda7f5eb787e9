import { existsSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { describeError, parseJsonc } from "../../lib/index.ts";
import type { JsonObject, JsonValue, SettingsOrigin } from "../../protocol/index.ts";
import { type Approval, hashApproval } from "../../settings/index.ts";
import type { TrustedLevels } from "./trusted-levels.ts";

export interface ProjectServers {
  readonly servers: Readonly<Record<string, JsonObject>>;
  readonly origins: readonly SettingsOrigin[];
  readonly notices: readonly string[];
  /** What trusting the workspace now would approve. */
  readonly approvals: readonly Approval[];
  /** There, and off because the directory is not trusted; as seen from the workspace. */
  readonly untrusted: readonly string[];
}

export interface ProjectServersPlace {
  /** The real path of the workspace. */
  readonly cwd: string;
  readonly levels: TrustedLevels;
  /** Absent for a directory: whatever stands there now is approved. */
  readonly approvedHash: (path: string) => ((kind: string, name: string) => string | undefined) | undefined;
}

/** What the `.mcp.json` files of a project say, the nearest first, as far as they are what the user trusted. */
export function readProjectServers({ cwd, levels, approvedHash }: ProjectServersPlace): ProjectServers {
  const servers: Record<string, JsonObject> = {};
  const origins: SettingsOrigin[] = [];
  const notices: string[] = [];
  const approvals: Approval[] = [];
  const untrusted: string[] = [];
  for (const { path, trusted } of levels.nearestFirst) {
    const file = join(path, NAME);
    if (!existsSync(file)) continue;
    if (!trusted) {
      untrusted.push(relative(cwd, file));
      continue;
    }
    const read = readServers(file);
    if ("problem" in read) {
      notices.push(read.problem);
      continue;
    }
    const hash = hashApproval(read.servers);
    if (path === cwd) approvals.push({ kind: KIND, name: NAME, hash });
    const approved = approvedHash(path);
    if (approved !== undefined && approved(KIND, NAME) !== hash) {
      notices.push(notApproved(file, { path, isNew: approved(KIND, NAME) === undefined }));
      continue;
    }
    for (const [name, value] of Object.entries(read.servers)) {
      if (Object.hasOwn(servers, name)) continue;
      Object.defineProperty(servers, name, { value, enumerable: true });
      origins.push({ path: `mcpServers.${name}`, value, scope: "project", file });
    }
  }
  return { servers, origins, notices, approvals, untrusted };
}

const NAME = ".mcp.json";
const KIND = "mcpServers";

type Read = { readonly servers: Readonly<Record<string, JsonObject>> } | { readonly problem: string };

/** No configuration is longer. */
const LONGEST = 1_000_000;

function readServers(file: string): Read {
  try {
    const { size, isPlain } = lookAt(file);
    if (!isPlain || size > LONGEST) return { problem: `${file} is no plain file of up to 1 MB. Replace it.` };
    return parseServers(readFileSync(file, "utf8"), file);
  } catch (error) {
    return { problem: `${file} can't be read: ${describeError(error)}` };
  }
}

/** Reading a pipe would wait for ever. */
function lookAt(file: string): { readonly size: number; readonly isPlain: boolean } {
  const stat = statSync(file);
  return { size: stat.size, isPlain: stat.isFile() };
}

function parseServers(text: string, file: string): Read {
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, message } = parsed.error;
    return { problem: `${file}:${line}: ${message}. No MCP server of it is used: repair the file.` };
  }
  const entries = isObject(parsed.value) ? parsed.value["mcpServers"] : undefined;
  if (!isObject(entries) || !Object.values(entries).every(isObject)) {
    const form = `{ "mcpServers": { "name": { "command": "…" } } }`;
    return { problem: `${file} has no "mcpServers" that could be used. Write ${form}.` };
  }
  return { servers: entries as Record<string, JsonObject> };
}

function isObject(value: unknown): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function notApproved(file: string, { path, isNew }: { readonly path: string; readonly isNew: boolean }): string {
  const why = isNew ? "you have not approved it yet" : "it changed since you trusted the directory";
  return `The MCP servers of ${file} are off: ${why}. Look at it, then "retinue trust add ${path}", or for one run --trust.`;
}
