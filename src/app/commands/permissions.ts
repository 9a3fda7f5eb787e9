import { MAIN_TYPE } from "../../agents/index.ts";
import { judgeCall } from "../../executor/index.ts";
import { homeDirectory, nearest, UserError } from "../../lib/index.ts";
import { checkRules } from "../../permissions/index.ts";
import {
  type AgentDefinition,
  canonicalToolName,
  type Decision,
  isKnownTool,
  type JsonObject,
  type PermissionMode,
  type Policy,
  type ProjectSettings,
  type Rule,
  type SettingsOrigin,
  toolNames,
} from "../../protocol/index.ts";
import { checkSettings } from "../../settings/index.ts";
import type { ProjectSettingsOptions } from "../../worker/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { type CatalogOptions, loadAgentCatalog } from "../agents/agent-catalog.ts";
import { unknownAgent } from "../agents/agent-diagnostics.ts";
import { loadProjectSettings } from "../settings/project-settings.ts";
import { mainPolicy, resolveDefinition } from "./resolve-definition.ts";

export interface RuleList {
  /** Deny rules, ask rules, the lines of permission files in order, then allow rules. */
  readonly rules: readonly ListedRule[];
  readonly mode: string;
  readonly problems: readonly string[];
  readonly notices: readonly string[];
}

export interface ListedRule extends Rule {
  /** True if the rule has no effect, because it is invalid or names no tool. */
  readonly ignored?: true | undefined;
}

/** Lists the rules in force in a directory. Throws a `UserError` for invalid settings. */
export function listRules(options: ProjectSettingsOptions): RuleList {
  const { rules, settings, notices } = loadProjectSettings(options);
  const entries = (effect: Rule["effect"]) => rules.filter((rule) => rule.effect === effect && rule.form === undefined);
  const lines = rules.filter(({ form }) => form === "compact");
  const ignored = new Set(ignoredRules(rules));
  const all = [...entries("deny"), ...entries("ask"), ...lines, ...entries("allow")];
  return {
    rules: all.map((rule): ListedRule => (ignored.has(rule) ? { ...rule, ignored: true } : rule)),
    mode: settings.permissions?.defaultMode ?? "default",
    problems: ruleProblems({ rules }),
    notices,
  };
}

/** Returns a message for each rule in the settings that is invalid or has no effect. */
export function ruleProblems({ rules }: Pick<ProjectSettings, "rules">): readonly string[] {
  return checkRules(rules).map(({ message }) => message);
}

/**
 * Returns the rules that have no effect. Does not include invalid deny and ask rules for a known tool, because they
 * apply to all uses of the tool.
 */
function ignoredRules(rules: readonly Rule[]): readonly Rule[] {
  return checkRules(rules).flatMap(({ rule, message }) => (/ignored|has no effect/.test(message) ? [rule] : []));
}

/** Returns whether a value in the settings has no effect: an unknown key, or a rule that is ignored. */
export function isIgnored({ settings, rules }: ProjectSettings): (origin: SettingsOrigin) => boolean {
  const unknown = checkSettings(settings).unknown.map(({ path }) => path.join("."));
  const ignored = ignoredRules(rules);
  return ({ path, value, file }) => {
    const effect = /^permissions\.(allow|ask|deny)\b/.exec(path)?.[1];
    return (
      unknown.some((key) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`)) ||
      ignored.some((rule) => rule.effect === effect && rule.text === value && rule.file === file)
    );
  };
}

export interface ExplainRequest {
  /** Name of the agent; `main` is the main agent. */
  readonly agent: string;
  /** Call such as `Bash(git push)` or `Read(src/a.ts)`, or a tool with its input as JSON. */
  readonly call: string;
  readonly catalog: CatalogOptions;
  /** Permission mode of the session; defaults to the mode in the settings. */
  readonly mode?: PermissionMode | undefined;
  readonly background?: boolean;
}

export interface ExplainedCall {
  readonly agent: string;
  readonly source: AgentDefinition["source"] | null;
  readonly tool: string;
  readonly input: JsonObject;
  /** Permission mode of the agent. */
  readonly mode: PermissionMode;
  readonly decision: Decision;
  /** Decision if no one can approve the call, as in `retinue -p`. */
  readonly unattended: Decision;
  readonly notices: readonly string[];
}

/**
 * Returns the decision on a call by an agent that the main agent would start, and the rule on which the decision is
 * based.
 */
export async function explainCall(request: ExplainRequest): Promise<ExplainedCall> {
  const { catalog, agent: name } = request;
  const settings = loadProjectSettings(catalog);
  const call = parseCall(request.call);
  if (!call.ok) throw new UserError(call.message, { code: "usage", fix: call.fix, exitCode: 2 });
  const { tool, input } = call;
  const loaded = await loadAgentCatalog({ ...catalog, settings });
  const found = name === MAIN_TYPE ? undefined : loaded.catalog.find(name)?.agent;
  if (found === undefined && name !== MAIN_TYPE) throw unknownAgent(name, loaded);
  const place = { ...settings, cwd: catalog.cwd, mode: request.mode, background: request.background };
  const main = mainPolicy({ ...place, tool });
  const resolution = found && resolveDefinition(found.definition, { ...place, tool });
  if (resolution !== undefined && !resolution.ok)
    throw new UserError(resolution.message, { code: "agents", exitCode: 1 });
  const policy = resolution?.agent.policy ?? main;
  return {
    agent: found?.definition.name ?? MAIN_TYPE,
    source: found?.definition.source ?? null,
    tool,
    input,
    mode: policy.mode,
    decision: await decideCall({ tool, input, catalog }, policy),
    unattended: await decideCall({ tool, input, catalog }, { ...policy, unattended: true }),
    notices: resolution?.notices ?? [],
  };
}

async function decideCall(
  { tool, input, catalog }: { readonly tool: string; readonly input: JsonObject; readonly catalog: CatalogOptions },
  policy: Policy,
): Promise<Decision> {
  const { cwd: root, environment } = catalog;
  const home = homeDirectory(environment);
  const workspace = createLocalWorkspace({ root, environment, home });
  const judged = await judgeCall({ toolName: canonicalToolName(tool), input, policy }, { workspace, homes: [home] });
  return judged.decision;
}

type CallText =
  | { readonly ok: true; readonly tool: string; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string; readonly fix: string };

/** Parses a call such as `Bash(git push)`, `Read(src/a.ts)`, `Task(Explore)` or `Edit({"file_path": "a.ts"})`. */
function parseCall(text: string): CallText {
  const [, name, body] = /^([\p{L}\p{N}_.\-:]+)\s*(?:\(([\s\S]*)\))?$/u.exec(text.trim()) ?? [];
  if (name === undefined) {
    const fix = "Write a tool and its input, such as 'Bash(git push)'.";
    return { ok: false, message: `${JSON.stringify(text)} is not a call`, fix };
  }
  const tool = canonicalToolName(name);
  if (!isKnownTool(name)) {
    const [meant] = nearest(name, toolNames);
    const fix = meant === undefined ? `Tools: ${toolNames.join(", ")}.` : `Did you mean "${meant}"?`;
    return { ok: false, message: `There is no tool "${name}"`, fix };
  }
  const given = body?.trim() ?? "";
  if (given.startsWith("{")) return readJson(tool, given);
  return { ok: true, tool, input: inputs[tool]?.(given) ?? {} };
}

function readJson(tool: string, text: string): CallText {
  try {
    return { ok: true, tool, input: JSON.parse(text) as JsonObject };
  } catch (error) {
    const message = `The input of ${tool} is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { ok: false, message, fix: 'Write it as {"key": "value"}, or in the short form without braces.' };
  }
}

/** Converts the text in parentheses to the tool's input. */
const inputs: Readonly<Record<string, (text: string) => JsonObject>> = {
  Bash: (command) => ({ command }),
  Read: (file_path) => ({ file_path }),
  Write: (file_path) => ({ file_path, content: "" }),
  Edit: (file_path) => ({ file_path, old_string: "", new_string: "" }),
  NotebookEdit: (notebook_path) => ({ notebook_path }),
  LS: (path) => ({ path: path || undefined }),
  Grep: (path) => ({ pattern: "", path: path || undefined }),
  Glob: (pattern) => ({ pattern }),
  WebFetch: (url) => ({ url: url.startsWith("domain:") ? `https://${url.slice(7)}/` : url }),
  Task: (subagent_type) => ({ prompt: "…", subagent_type: subagent_type || undefined }),
  Skill: (skill) => ({ skill }),
};
