import { type Access, canonicalToolName, type Decision, type JsonObject, type ToolCall } from "../../protocol/index.ts";
import { alwaysPatterns } from "../rules/always-patterns.ts";
import { hostOf } from "../rules/domain-pattern.ts";
import { soleCommand } from "../shell/analyze-command.ts";
import { accesses } from "./accesses.ts";
import {
  CHANGED_HOOK,
  HIDDEN_COMMAND,
  PLAN_APPROVAL,
  SECRET_FILE,
  TRACKED_FILES,
  USER_QUESTION,
  WRITE_IN_WORKSPACE,
} from "./finding.ts";

/** Explains a denial, or an `ask` without an approver, to the model: what was refused, why, and how to allow it. */
export function explainDenial(decision: Decision, call: ToolCall): string {
  const tool = canonicalToolName(call.name);
  const head = [`${tool} was not run.`, decision.reason, otherWays.get(decision.rule)].filter(Boolean).join(" ");
  if (decision.rule === "not in pool") return `${head} Continue with the tools you have.`;
  if (malformed.has(decision.rule)) return `${head} Correct the call.`;
  if (decision.rule === PLAN_APPROVAL) return PLAN_NOT_APPROVED;
  if (decision.rule === USER_QUESTION)
    return "The question was not answered: no one can answer it in this run, or the user declined. Decide yourself, continue, and say what you assumed.";
  if (decision.rule === "plan") return `${head} Say in your answer what you would do; the user can leave plan mode.`;
  if (decision.rule === CHANGED_HOOK)
    return `${head} This needs approval, and no one can approve it in this run. Continue without it, and say in your answer that the user should check the hook; a new session runs it without asking.`;
  const isRule = decision.scope !== "builtin" || decision.rule === SECRET_FILE;
  if (decision.effect === "deny" && isRule)
    return `${head} Do not try to do the same in another way; say in your answer what is missing.`;
  const advice = isRule
    ? "This needs approval, and no one can approve it in this run."
    : `This needs approval, and no one can approve it in this run. ${adviceFor(tool, call, decision)}`;
  return `${head} ${advice} Continue without it, and say in your answer what is missing.`;
}

/** Tells the model that an approver denied a call without giving a reason. */
export function explainRefusal({ rule }: Decision): string {
  if (rule === PLAN_APPROVAL) return PLAN_NOT_APPROVED;
  if (rule === USER_QUESTION)
    return "The user did not want to answer the question. Decide yourself, continue, and say what you assumed.";
  return "The user denied this call. Continue without it, or ask the user what to do instead.";
}

const PLAN_NOT_APPROVED =
  "The plan was not approved, so plan mode stays on. If you were told what is wrong with the plan, change it; otherwise, present the plan as your answer.";

/** Returns a rule that allows exactly this call, for `allowedTools` and settings; undefined if no rule can. */
export function suggestRule(toolName: string, input: JsonObject): string | undefined {
  const tool = canonicalToolName(toolName);
  const list = accesses(tool, input);
  return list.length === 0 ? tool : ruleFor(tool, list[0]!);
}

/**
 * Advice on how to write a call that needs no approval, by built-in rule. Only the model gets this advice, not the
 * user.
 */
const otherWays: ReadonlyMap<string, string> = new Map([
  [HIDDEN_COMMAND, "Write it without variables, substitutions, eval or aliases in place of program names."],
  [TRACKED_FILES, "To print other files, name them after `--`."],
]);

const malformed = new Set(
  "malformed path|unresolved path|malformed command|malformed address|unusable input".split("|"),
);

function adviceFor(tool: string, call: ToolCall, decision: Decision): string {
  const rule = suggestRule(tool, parseInput(call.inputJson));
  if (rule === undefined)
    return "Run one simple command at a time, without operators, variables or wildcards: a rule can allow such a command.";
  const mode = decision.rule === WRITE_IN_WORKSPACE ? "the permission mode acceptEdits, or with " : "";
  return `The user can allow it with ${mode}the rule \`${rule}\` in the \`allowedTools\` option or in \`permissions.allow\` in settings.`;
}

function ruleFor(tool: string, access: Access): string | undefined {
  switch (access.kind) {
    case "read":
    case "search":
      return `Read(${pathPattern(access.path)})`;
    case "write":
      return `Edit(${pathPattern(access.path)})`;
    case "command":
      return soleCommand(access.command) === undefined ? undefined : `Bash(${alwaysPatterns(access.command).exact})`;
    case "network": {
      const host = hostOf(access.url);
      return host === undefined ? undefined : `WebFetch(domain:${host})`;
    }
    case "agent":
      return access.agentType === "" ? tool : `${tool}(${access.agentType})`;
    case "skill":
      return `${tool}(${access.name})`;
    case "plan":
    case "question":
      return undefined;
    case "internal":
      return tool;
  }
}

function pathPattern(path: string): string {
  const escaped = path.replace(/[*?[\\]/g, "\\$&");
  if (escaped.startsWith("/")) return `/${escaped}`;
  return /^(\.{1,2}\/|~\/)/.test(escaped) ? escaped : `./${escaped}`;
}

function parseInput(inputJson: string): JsonObject {
  try {
    const value: unknown = JSON.parse(inputJson);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}
