import { stripControls } from "../lib/index.ts";
import {
  type AssistantBlock,
  callsOf,
  canonicalToolName,
  ENVIRONMENT_OPENING,
  isRuntimeText,
  type Message,
  runtimeTextBegins,
  runtimeTexts,
  type ToolDeclaration,
  textOf,
  type UserBlock,
} from "../protocol/index.ts";
import type { JobRequest } from "./job-request.ts";
import { gitHistory } from "./jobs/git-history.ts";
import type { CallResult, Job, PlannedCall, Report } from "./jobs/job.ts";
import { browse, findSymbol, readOne, searchText } from "./jobs/look-up.ts";
import { clip, howToUseAModel, unseenSection } from "./jobs/report.ts";
import { summarize } from "./jobs/summarize.ts";
import { explorer } from "./map/delegate-parts.ts";
import { explorePart } from "./map/explore-part.ts";
import { mapRepository } from "./map/map-repository.ts";
import { recognize } from "./recognize.ts";

/** The offline model's next response. A refusal ends the run as failed. */
export type Plan =
  | { readonly kind: "calls"; readonly text: string; readonly calls: readonly PlannedCall[] }
  | Pick<Report, "kind" | "text">;

/** Plans the next response from the conversation alone, so that a resumed session continues where it stopped. */
export function plan(messages: readonly Message[], tools: readonly ToolDeclaration[]): Plan {
  const request = currentRequest(messages);
  const recognized = recognize(request.text);
  const declared = new Set(tools.map(({ name }) => canonicalToolName(name)));
  const planned = replay(jobFor(recognized, { text: request.text, canDelegate: canDelegate(tools) }), (call) => {
    if (!declared.has(call.name)) return { call, ok: false, text: `This agent has no tool ${call.name}.` };
    return request.resultOf(call);
  });
  // The report about a part is read by another agent, not by the user.
  const isForUser = planned.kind === "report" && recognized.kind !== "explore-part";
  return isForUser && !hasFooter(messages) ? { ...planned, text: `${planned.text}\n${footer}\n` } : planned;
}

const footer = `Generated offline, without a language model. To use one, ${howToUseAModel}`;

/** Returns whether an earlier answer said how to use a language model. */
function hasFooter(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === "assistant" && textOf(content).includes(footer));
}

/**
 * Returns true if a read-only agent can be started. If Task does not list all agents, assumes that one can be started.
 */
function canDelegate(tools: readonly ToolDeclaration[]): boolean {
  const task = tools.find(({ name }) => canonicalToolName(name) === "Task");
  const { properties } = (task?.inputSchema ?? {}) as {
    readonly properties?: { readonly subagent_type?: { readonly enum?: readonly string[] } };
  };
  return task !== undefined && (properties?.subagent_type?.enum?.includes(explorer) ?? true);
}

function jobFor(
  request: JobRequest,
  { text, canDelegate }: { readonly text: string; readonly canDelegate: boolean },
): Job {
  switch (request.kind) {
    case "map":
      return mapRepository(request.path, { canDelegate });
    case "explore-part":
      return explorePart(request.path);
    case "find":
      return findSymbol(request);
    case "summarize":
      return summarize(request.path);
    case "history":
      return gitHistory(request);
    case "list":
      return browse(request);
    case "read":
      return readOne(request);
    case "search":
      return searchText(request);
    case "unknown":
      return refuse(text);
  }
}

/** Runs a job from the start with the known results, up to the first calls that have none. */
function replay(job: Job, resultOf: (call: PlannedCall) => CallResult | undefined): Plan {
  const all: CallResult[] = [];
  let turn = job.next([]);
  while (!turn.done) {
    const { text, calls } = turn.value;
    const known = calls.map(resultOf);
    const open = calls.filter((_, index) => known[index] === undefined);
    if (open.length > 0) return { kind: "calls", text, calls: open };
    const results = known as readonly CallResult[];
    all.push(...results);
    turn = job.next(results);
  }
  const { kind, text, reported = [] } = turn.value;
  const failed = all.filter((result) => !result.ok && !reported.includes(result));
  const succeeded = all.filter(({ ok }) => ok);
  // Remove control characters, because the text of files and commits is printed to a terminal.
  return { kind, text: stripControls(text + unseenSection(failed, succeeded)) };
}

// biome-ignore lint/correctness/useYield: this job makes no calls
function* refuse(text: string): Job {
  const start =
    text === ""
      ? "There is no request. The offline model"
      : `The offline model can't do this: "${clip(text, 200)}". It`;
  return { kind: "refusal", text: `${start} ${explanation}` };
}

const explanation = `finds and reports what is in the files, and changes nothing.
It can map a repository ("Map this repository"), find a name ("Where is parseConfig defined?"), summarize a file or directory ("Summarize src/main.ts"),
report the git history ("What changed recently?"), and list, read and search files ("List files in docs", "Read README.md", "Search for 'timeout'").
For anything else, use a language model: ${howToUseAModel}
`;

interface CurrentRequest {
  readonly text: string;
  /** Returns the result of a call made for this request; undefined if the call has not been made yet. */
  resultOf(call: PlannedCall): CallResult | undefined;
}

/**
 * Returns the user's last request with the calls made since. "Continue" refers to the request before it, with its
 * calls.
 */
function currentRequest(messages: readonly Message[]): CurrentRequest {
  const requests = messages.flatMap((message, index) => {
    if (message.role !== "user") return [];
    const text = textOf(message.content.filter((block) => !isNote(block))).trim();
    return text === "" && !message.content.some(saysResumed) ? [] : [{ text, index }];
  });
  const last = requests.at(-1) ?? { text: "", index: 0 };
  const meant = requests.findLast(({ text }) => !isContinue(text)) ?? last;
  const failedCheck = messages.findLastIndex(({ role, content }) => role === "user" && content.some(saysCheckFailed));
  const results = collectResults(messages, { from: Math.max(meant.index, failedCheck), failuresFrom: last.index });
  return {
    text: meant.text,
    resultOf: (call) => {
      const found = results.get(keyOf(call.name, JSON.stringify(call.input)));
      return found && { call, ...found };
    },
  };
}

/** Returns true if Retinue added the block, which is therefore not a request. */
function isNote(block: UserBlock): boolean {
  return (
    block.type === "text" &&
    (isRuntimeText(block.text) || knownWords.some((words) => runtimeTextBegins(block.text, words)))
  );
}

/** Texts that are recognized in sessions of earlier versions, too. */
const knownWords = [ENVIRONMENT_OPENING, ...Object.values(runtimeTexts)];

function saysResumed(block: UserBlock): boolean {
  const { previousRun, interrupted } = runtimeTexts;
  return (
    block.type === "text" &&
    isNote(block) &&
    [previousRun, interrupted].some((words) => runtimeTextBegins(block.text, words))
  );
}

/**
 * Returns true if a block says that a check of the finished work failed. The job is then done again, with new calls.
 */
function saysCheckFailed(block: UserBlock | AssistantBlock): boolean {
  const { acceptanceFailed, verificationFailed } = runtimeTexts;
  return (
    block.type === "text" &&
    [acceptanceFailed, verificationFailed].some((words) => runtimeTextBegins(block.text, words))
  );
}

/** Returns true if the user asks to continue. The text is empty if a session was resumed without a prompt. */
function isContinue(text: string): boolean {
  return (
    text === "" ||
    /^(please |ok(ay)?[,.]? )?(continue|go on|go ahead|carry on|resume|keep going|proceed|try again|retry)\b[\s.!]*$/i.test(
      text,
    )
  );
}

interface RecordedResult {
  readonly ok: boolean;
  readonly text: string;
}

/**
 * Returns the results of earlier calls. Leaves out calls that failed before the user said "continue", because most
 * of them were interrupted; they are made again.
 */
function collectResults(
  messages: readonly Message[],
  { from, failuresFrom }: { readonly from: number; readonly failuresFrom: number },
): ReadonlyMap<string, RecordedResult> {
  const keys = new Map<string, string>();
  const results = new Map<string, RecordedResult>();
  for (const [index, message] of messages.entries()) {
    if (index < from) continue;
    if (message.role === "assistant") {
      for (const { callId, name, inputJson } of callsOf(message)) keys.set(callId, keyOf(name, inputJson));
      continue;
    }
    for (const block of message.content) {
      if (block.type !== "tool_result") continue;
      const key = keys.get(block.callId);
      if (key === undefined || (block.isError && index <= failuresFrom)) continue;
      results.set(key, { ok: !block.isError, text: textOf(block.content) });
    }
  }
  return results;
}

function keyOf(name: string, inputJson: string): string {
  return `${name} ${inputJson}`;
}
