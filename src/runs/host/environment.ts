import type { EnvironmentFacts, GitState } from "../../ports/index.ts";
import {
  type DurableEvent,
  ENVIRONMENT_OPENING,
  type PermissionMode,
  runtimeText,
  type ToldEnvironment,
} from "../../protocol/index.ts";
import { type ClockLimits, formatMinutes } from "./clock-limits.ts";
import { currentPolicy } from "./plan-mode.ts";
import type { RunHost } from "./run-host.ts";

/**
 * Returns the line that describes an agent's environment: everything at the start of a conversation or after a
 * compaction, and otherwise only what has changed. The text is part of a user turn, so that the cached prefix stays
 * valid.
 */
export async function environmentEvents(host: RunHost): Promise<DurableEvent[]> {
  const { services, thread, request } = host;
  const { environment: facts } = services;
  if (facts === undefined) return [];
  // For a new fork, the state is still empty, because the line that creates the fork is recorded together with this
  // one.
  const told = thread.isNew ? request.subagent?.spec.fork?.environment : thread.state.environment;
  const now = environmentNow(host);
  const text = told === undefined ? await describeAll(host, now, facts) : describeChanges(told, now);
  return text === ""
    ? []
    : [{ type: "context.added", cause: "environment", text: runtimeText(text), environment: now }];
}

function environmentNow(host: RunHost): ToldEnvironment {
  const { services, request } = host;
  const { provider, model } = request.agent.head;
  const policy = currentPolicy(host);
  return {
    date: localDate(services.clock.now()),
    directory: services.cwd,
    model: `${provider}/${model}`,
    mode: policy.mode,
    approvable: policy.unattended !== true && services.approvals.canAnswer(request.subagent?.background === true),
  };
}

async function describeAll(host: RunHost, now: ToldEnvironment, facts: EnvironmentFacts): Promise<string> {
  const { pool, workspaceRoots } = currentPolicy(host);
  if (!pool.some((tool) => placeTools.has(tool))) return describeWithoutPlace(now);
  const [git, commands] = await Promise.all([
    facts.git(now.directory),
    pool.includes("Bash") ? facts.commands() : undefined,
  ]);
  const added = workspaceRoots.slice(1);
  const lines = [
    ENVIRONMENT_OPENING,
    `Date: ${now.date}`,
    `Platform: ${facts.platform}`,
    `Working directory: ${shown(now.directory)} (relative paths start here)`,
    ...(added.length === 0 ? [] : [`Additional directories: ${added.map(shown).join(", ")}`]),
    ...gitLines(git, host.request.subagent === undefined),
    `Model: ${now.model}`,
    `Permission mode: ${modeText(now)}`,
    ...(commands === undefined ? [] : [`Commands: ${commands}`]),
    ...timeLines(host.services.limits),
  ];
  return lines.join("\n");
}

/** Tells an agent how much time it has. Time during which it waits for approval does not count. */
function timeLines({ wallMs, atWall }: ClockLimits): readonly string[] {
  if (wallMs === undefined) return [];
  const time = `Time limit: ${formatMinutes(wallMs)} of active time.`;
  if (atWall === "background") return [`${time} Then you continue in the background, and your parent stops waiting.`];
  return [`${time} Then this run ends, so report before that, and say what is left to do.`];
}

/** Tools that work in the agent's directory, or that start agents that may do so. */
const placeTools: ReadonlySet<string> = new Set([
  "Read",
  "Grep",
  "Glob",
  "LS",
  "Edit",
  "Write",
  "NotebookEdit",
  "Bash",
  "Task",
]);

/**
 * Describes the environment without paths. An agent that can't use its directory, such as one that talks to customers,
 * must not reveal it.
 */
function describeWithoutPlace({ date, model, mode, approvable }: ToldEnvironment): string {
  const who = approvable ? "the user can approve them" : "no one can approve them in this run";
  const asks = mode === "default" || mode === "acceptEdits" ? ` Some calls may need approval; ${who}.` : "";
  return `${ENVIRONMENT_OPENING}\nDate: ${date}\nModel: ${model}\nPermission mode: ${mode}.${asks}`;
}

/**
 * Describes the git repository. Only the main agent gets the list of changed files, because other agents may have
 * changed more files by the time a subagent begins.
 */
function gitLines(git: GitState | undefined, isMain: boolean): readonly string[] {
  if (git === undefined) return ["Git repository: no"];
  const { branch, changes, changed = 0 } = git;
  const where = `Git repository: yes${branch === undefined ? "" : `, on branch ${shown(branch)}`}`;
  if (!isMain || changes === undefined) return [where];
  if (changed === 0) return [`${where}, with no uncommitted changes`];
  const rest = changed - changes.length;
  return [
    `${where}, with uncommitted changes:`,
    ...changes.map((line) => `  ${shown(line)}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ];
}

function describeChanges(told: ToldEnvironment, now: ToldEnvironment): string {
  const changes = [
    told.date === now.date ? "" : `The date is now ${now.date}.`,
    told.directory === now.directory ? "" : `Your working directory is now ${shown(now.directory)}.`,
    told.model === now.model ? "" : `Your model is now ${now.model}.`,
    told.mode === now.mode && told.approvable === now.approvable ? "" : `The permission mode is now ${modeText(now)}`,
  ].filter((text) => text !== "");
  return changes.join(" ");
}

/** Describes what an agent may do in each permission mode, apart from rules. */
const meanings: Readonly<Record<PermissionMode, string>> = {
  default:
    "Reading files, read-only commands and delegating need no approval. Changing files, other commands and using the web need it, unless a rule allows them.",
  acceptEdits: "Reading and editing files is allowed. Other calls need approval unless a rule allows them.",
  plan: "Only reading is allowed.",
  dontAsk: "Calls that would need approval are denied; no one is asked.",
  bypassPermissions: "Everything is allowed unless a rule denies it.",
};

function modeText({ mode, approvable }: ToldEnvironment): string {
  const asks = mode === "default" || mode === "acceptEdits";
  const who = approvable
    ? " Make such a call if you need it: the user will be asked and can approve it."
    : " No one can approve calls or answer questions during this run, so settle open points yourself and say what you assumed. You can try such a call, because a rule may allow it, but do not repeat it if it is denied: describe in your answer what you would have done.";
  return `${mode}. ${meanings[mode]}${asks ? who : ""}`;
}

const LONGEST_NAME = 300;

/** Returns a name on one line, because a repository can contain multi-line names that imitate Retinue's own text. */
function shown(name: string): string {
  const text = name.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
}

/** Returns the date in the machine's time zone, such as 2026-11-17. */
function localDate(milliseconds: number): string {
  const date = new Date(milliseconds);
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${date.getFullYear()}-${month}-${day}`;
}
