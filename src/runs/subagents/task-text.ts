import { boundText, formatCount, formatDuration, matchId, plural } from "../../lib/index.ts";
import {
  type AcceptanceResult,
  type AgentId,
  type ApprovalAnswer,
  type CommandFact,
  type DeniedFact,
  type EndReason,
  type KeptWorktree,
  MAIN_AGENT,
  NO_APPROVER,
  type Outcome,
  outputAddress,
  type RunEnd,
  type RunRef,
  runtimeText,
  VERIFIER,
} from "../../protocol/index.ts";
import { labelOf, type Subagent, type SubagentResult } from "./subagent.ts";

/** Maximum length of a report in the parent's context, in characters. The parent can read the rest separately. */
export const LONGEST_REPORT = 32_000;
const LONGEST_NOTICES = 3 * LONGEST_REPORT;

/**
 * Returns the text about an ended run for the parent's model. `report` is the agent's report, or the part of it that
 * fits.
 */
export function resultText(run: SubagentResult, report = run.end.text): string {
  const { agentId, agentType, end } = run;
  if (end.outcome === "failed" || end.outcome === "stopped") return errorText(run, report);
  const attributes = attributesOf({ agent: agentType, id: agentId, status: statusOf(end.outcome) });
  return `<task_result${attributes}>\n${escapeTags(report)}\n</task_result>\n${trailer(run)}${earlyEnd(end)}${advice(run)}`;
}

function errorText(run: SubagentResult, report: string): string {
  const { agentId, agentType, end } = run;
  const attributes = attributesOf({ agent: agentType, id: agentId, status: end.outcome });
  const said = report.trim() === "" ? "" : `\nIts last message:\n${escapeTags(report)}`;
  const why = escapeTags(causeOf(end) ?? end.reason);
  return `<task_error${attributes}>\n${why}${said}\n</task_error>\n${trailer(run)}${advice(run)}`;
}

/** Explains why an incomplete run ended early. */
function earlyEnd(end: RunEnd): string {
  return end.outcome === "incomplete" ? `\n[Ended early (${end.reason}). ${escapeTags(causeOf(end) ?? "")}]` : "";
}

/** Returns why a run ended, without advice that only a person can follow. Older transcripts have only the message. */
function causeOf({ message, limit, reason, stoppedBy }: RunEnd): string | undefined {
  if (stoppedBy === "person") return "The user stopped this agent. Its work is kept.";
  if (reason === "interrupted" || reason === "stopped") return `The run was ${reason}. Its work is kept.`;
  return limit?.cause ?? message;
}

/** Says what the parent can do about a run that did not succeed. */
function advice(run: SubagentResult): string {
  const { reason, stoppedBy } = run.end;
  if (reason === "done") return "";
  if (stoppedBy === "person") return `\n[${withoutStopped}]`;
  const text = reason === "budget" ? budgetAdvice(run) : adviceByReason[reason](resuming(run));
  return `\n[${text}]`;
}

function resuming({ agentId }: SubagentResult): string {
  return `To continue this agent, call Task with resume: "${agentId}"`;
}

/** Advice for each reason. Each function takes the sentence that says how to resume the agent, without its period. */
const adviceByReason: Readonly<Record<Exclude<EndReason, "done" | "budget">, (resume: string) => string>> = {
  max_turns: (resume) => `${resume}, and ask only for what is missing. If its report is enough, use that.`,
  timeout: (resume) => `${resume}, and ask only for what is missing. If its report is enough, use that.`,
  stall: (resume) => `${resume}. If this happens again, do without it, and say so in your answer.`,
  loop: (resume) => `${resume}, with instructions for a different approach, or do the work differently.`,
  output_limit: (resume) => `${resume}, and ask for a shorter answer, or for one part at a time.`,
  context_overflow: () =>
    "Its conversation is full, so do not resume it. Give what is missing to new agents, in smaller parts.",
  refused: () => "Do not give it the same task again. Do the work differently, or say in your answer what is missing.",
  invalid_output: (resume) => `${resume}, and ask for the answer in the right form.`,
  model_error: (resume) => `${resume}. If this happens again, do without it, and say so in your answer.`,
  journal_error: (resume) =>
    `The session's files could not be written, and you can't change that. Say so in your answer. ${resume}.`,
  internal_error: (resume) => `${resume}. If this happens again, do without it, and say so in your answer.`,
  process_lost: (resume) => `${resume}. It knows what it has done so far.`,
  interrupted: (resume) => `${resume}, but only if its work is still wanted.`,
  stopped: (resume) => `${resume}, but only if its work is still wanted.`,
  parked: (resume) => `${resume}. It knows what it has done so far.`,
};

function budgetAdvice(run: SubagentResult): string {
  const { limit } = run.end;
  if (limit?.spawns)
    return `It can't start more agents. ${resuming(run)}, and ask it to do the rest itself. If something is left undone, say so in your answer.`;
  // A definition's budget applies to each agent separately, and covers all of that agent's runs.
  if (limit?.owner === run.agentType)
    return "This is the agent's own budget, so resuming it will not help until the user raises the limit. Use its report, and give what is missing to a new agent as a smaller task, or do it yourself.";
  return "This limit applies to you too, and resuming the agent will not help until the user raises it. Finish with what you have, and say in your answer what is missing.";
}

const withoutStopped =
  "Do not resume this agent or give its work to another one, unless the user asks for it. Continue without it, and say so in your answer.";

/** Explains why an agent that the user stopped was not resumed. `approval` is absent if no one was asked. */
export function stoppedText(agentId: AgentId, approval: ApprovalAnswer | undefined): string {
  const { by, message = "" } = approval ?? {};
  const cause =
    by === undefined || by === NO_APPROVER
      ? "resuming it requires the user's approval, which no one can give in this run"
      : "resuming it was not approved";
  return [`The user stopped agent ${agentId}, and ${cause}.`, message, withoutStopped].filter(Boolean).join(" ");
}

/** Returns the text for a refused call, which has no agent that could be resumed. */
export function refusalText(agentType: string, message: string): string {
  return `<task_error${attributesOf({ agent: agentType })}>\n${escapeTags(message)}\n</task_error>`;
}

export function launchedText(agentId: AgentId): string {
  return `Agent ${agentId} is running in the background; you will be notified when it ends. To see its output so far, open ${outputAddress(agentId)} with Read or Grep. Continue with something else. TaskOutput shows its progress, and TaskStop stops it.\nagentId: ${agentId}`;
}

/** Returns a single notice about all background agents that have ended. Their reports share the available length. */
export function noticeText(ended: readonly SubagentResult[]): string {
  const room = Math.max(400, Math.min(LONGEST_REPORT, Math.floor(LONGEST_NOTICES / ended.length)));
  const notices = ended.map((run) => {
    const { agentId, agentType, description, inBackground, end } = run;
    const attributes = attributesOf({
      agent: agentType,
      id: agentId,
      status: statusOf(end.outcome),
      output_file: inBackground ? outputAddress(agentId) : undefined,
    });
    const cause = causeOf(end);
    const why = cause === undefined ? "" : `${escapeTags(cause)}\n`;
    const report = escapeTags(boundReport(run, room));
    const said = report.trim() === "" ? "" : `<task_result>\n${report}\n</task_result>\n`;
    const summary = `${escapeTags(description)}: ${end.outcome}${end.reason === "done" ? "" : ` (${end.reason})`}`;
    return `<task_notification${attributes}>\n${summary}\n${why}${said}${trailer(run)}${advice(run)}\n</task_notification>`;
  });
  const what = ended.some(({ inBackground }) => inBackground) ? "background agent" : "agent";
  return runtimeText(`${plural(ended.length, what)} ended.\n${notices.join("\n")}`);
}

/** Returns a run's report, cut to a maximum length, with a note on where to read the rest. */
export function boundReport({ agentId, inBackground, end }: SubagentResult, maxCharacters: number): string {
  const { text, truncated } = boundText(end.text, { maxCharacters });
  if (!truncated) return text;
  const how = inBackground ? `open ${outputAddress(agentId)} with Read or Grep` : "use TaskOutput";
  return `${text}\n[The report has ${formatCount(end.text.length)} characters. To read all of it, ${how}.]`;
}

/** Returns the facts that the runtime recorded, as text to append to the agent's own report. */
function trailer({ agentType, worktree, end }: SubagentResult): string {
  const { usage, facts, milliseconds, costUsd, acceptance } = end;
  const changed = agentType === VERIFIER && !worktree ? "changed in its scratch copy, which was removed" : "changed";
  const { calls, tokens } = totalsOf({ usage, facts });
  const parts = [
    plural(calls, "tool call"),
    `${formatCount(tokens)} tokens`,
    ...(costUsd === undefined || costUsd === 0 ? [] : [`$${costUsd.toFixed(4)}`]),
    formatDuration(milliseconds),
    ...(facts.filesChanged.length === 0 ? [] : [`${changed}: ${list(facts.filesChanged.map(asName))}`]),
    ...(facts.commands.length === 0 ? [] : [`ran: ${list(facts.commands.map(ran))}`]),
    ...(facts.denied.length === 0 ? [] : [`denied: ${list(facts.denied.map(denied))}`]),
    ...(facts.unknown.length === 0 ? [] : [`outcome unknown: ${plural(facts.unknown.length, "call")}`]),
    ...(facts.agentsCut > 0 ? [`${plural(facts.agentsCut, "subagent")} cut short`] : []),
    ...(facts.unreturned ? [`subagents that did not report to it: ${ids(facts.unreturned)}`] : []),
    ...(worktree ? [`worktree: ${worktree.path}, branch ${worktree.branch} (${escapeTags(worktree.changes)})`] : []),
  ];
  const checked = acceptance ? `\n${acceptanceText(acceptance)}` : "";
  return `[${parts.join("; ")}]${checked}${worktree ? `\n${mergeText(worktree)}` : ""}`;
}

function mergeText({ branch, changes }: KeptWorktree): string {
  const place = "Leave the worktree in place; the user removes it.";
  if (!/\bcommits?\b/.test(changes)) return `[The agent has committed nothing. ${place}]`;
  return `[To apply the agent's commits to your files without committing, run \`git diff --binary HEAD...${branch} | git apply\` in the root of the repository. If this fails, it has changed nothing: read the agent's changes in its worktree and make them yourself. If you resume the agent, apply only its new commits afterwards: \`git diff --binary LAST..${branch} | git apply\`, where LAST is the last commit that you applied. ${place}]`;
}

export function totalsOf({ usage, facts }: Pick<RunEnd, "usage" | "facts">): { calls: number; tokens: number } {
  const calls = Object.values(facts.toolCalls).reduce((sum, count) => sum + count, 0);
  const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
  return { calls, tokens };
}

function ids(runs: readonly RunRef[]): string {
  return list(runs.map(({ agentId }) => agentId));
}

/** Formats a command and its exit code: `"npm test" (exit 1)`. */
function ran({ command, exitCode }: CommandFact): string {
  return `${quoted(command)} (${exitCode === null ? "no exit code" : `exit ${exitCode}`})`;
}

/** Formats a denied call as its tool and the first string in its input: `Bash "npm publish"`. */
function denied({ tool, input }: DeniedFact): string {
  const first = Object.values(objectIn(input)).find((value) => typeof value === "string");
  return first === undefined ? tool : `${tool} ${quoted(first)}`;
}

function objectIn(json: string): object {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

function quoted(text: string): string {
  const [line = "", ...more] = text.trim().split("\n");
  return JSON.stringify(more.length > 0 || line.length > LONGEST_COMMAND ? `${line.slice(0, LONGEST_COMMAND)}…` : line);
}

const LONGEST_COMMAND = 60;

function acceptanceText({ command, ok, exitCode, output }: AcceptanceResult): string {
  const check = `verified: ${ok} (${escapeTags(command)}`;
  if (ok) return `[${check})]`;
  const how = exitCode === null ? "did not finish" : `exit code ${exitCode}`;
  return `[${check}: ${how})]\n${escapeTags(output)}`;
}

/** Quotes a path that contains characters that separate items in the line. */
function asName(path: string): string {
  return /[\s;,"<>[\]]/.test(path) ? JSON.stringify(path) : path;
}

function list(items: readonly string[]): string {
  const shown = items.slice(0, 10).map(escapeTags).join(", ");
  return items.length > 10 ? `${shown} and ${items.length - 10} more` : shown;
}

/** Returns the status that the text shows. A run that succeeded is shown as `completed`. */
function statusOf(outcome: Outcome): string {
  return outcome === "succeeded" ? "completed" : outcome;
}

/** Escapes text that imitates Retinue's tags or those of a system message. */
export function escapeTags(text: string): string {
  return text.replace(/<(?=\s*(?:\/\s*)?(?:task[-_]|system[-_\s>]))/gi, "&lt;");
}

function attributesOf(attributes: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([name, value = ""]) => ` ${name}="${value.replace(/[<>&"]/g, (sign) => entities[sign] ?? sign)}"`)
    .join("");
}

const entities: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };

/** Maximum number of finished agents in the list. Older agents can still be resumed by id. */
const FINISHED_SHOWN = 10;

/**
 * Lists the agents that are running, have unreported results or can be resumed. After a compaction, a parent knows its
 * agents only from this list. Returns an empty text if there are no such agents.
 */
export function rosterText(agents: readonly Subagent[], unreported: readonly RunRef[]): string {
  const waiting = new Set(unreported.map(({ runId }) => runId));
  const running = agents.filter(({ end }) => end === undefined);
  const ended = agents.filter(({ end }) => end !== undefined);
  const ready = ended.filter(({ runId }) => waiting.has(runId));
  const finished = ended.filter(({ runId }) => !waiting.has(runId));
  const parts = [
    rosterSection("Running; you will be notified when they end", running),
    // The model reads this list together with the reports.
    rosterSection("Ended; their reports follow", ready),
    rosterSection("Ended and reported; to continue one, resume it by its id", finished.slice(-FINISHED_SHOWN)),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function rosterSection(title: string, agents: readonly Subagent[]): string {
  if (agents.length === 0) return "";
  return [`${title}:`, ...agents.map(rosterLine)].join("\n");
}

function rosterLine({ agentId, agentType, description, name, inBackground, end }: Subagent): string {
  const called = name === undefined ? "" : `, called ${name}`;
  const outcome = end?.stoppedBy === "person" ? "stopped by the user" : end?.outcome;
  const how = outcome === undefined || outcome === "succeeded" ? "" : ` (${outcome})`;
  const output = inBackground && end === undefined ? ` (output: ${outputAddress(agentId)})` : "";
  return `- ${agentId} (${agentType}${called})${how}: ${description}${output}`;
}

/**
 * Returns an error text for a name or id that matches no agent or several. Lists the agents that the caller can reach,
 * which are those below it.
 */
export function unknownAgentText(id: string, agents: readonly Subagent[], caller: AgentId): string {
  const isMain = caller === MAIN_AGENT;
  if (agents.length === 0)
    return isMain
      ? `There is no agent ${id} in this session: no agent has been started.`
      : `There is no agent ${id} among yours: you have not started any.`;
  const match = matchId(
    agents.map(({ agentId }) => agentId),
    id,
  );
  if (match.kind === "many") {
    const meant = agents.filter(({ agentId }) => match.ids.includes(agentId));
    return `"${id}" matches ${meant.length} agents: ${meant.map(labelOf).join(", ")}. Use a longer part of the id.`;
  }
  const newest = agents.slice(-10).reverse();
  const more = agents.length > newest.length ? ` and ${agents.length - newest.length} older ones` : "";
  const where = isMain ? "in this session" : "among yours";
  return `There is no agent ${id} ${where}. Known agents: ${newest.map(labelOf).join(", ")}${more}.`;
}

/** Explains why an agent without Task can't use the other delegation tools. */
export const MAY_NOT_DELEGATE = "only agents that can delegate may start, resume, stop or inspect other agents.";
