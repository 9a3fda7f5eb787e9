import { providedSummary, SUMMARY_OPENING } from "../../conversation/index.ts";
import { boundText } from "../../lib/index.ts";
import { inputOf } from "../../loop/index.ts";
import {
  type AssistantMessage,
  callsOf,
  ENVIRONMENT_OPENING,
  FORK_INTRODUCTION,
  isRuntimeText,
  type Message,
  type PermissionMode,
  type RunFacts,
  runtimeText,
  runtimeTextBegins,
  type ToolCallBlock,
  type ToolResultBlock,
  textOf,
  withinRuntimeTag,
} from "../../protocol/index.ts";

export interface CompactionRecord {
  readonly first?: string | undefined;
  /** Latest prompt, if the kept messages do not contain it. */
  readonly latest?: string | undefined;
  /** Absent if the conversation begins with the provider's summary, and the record follows later. */
  readonly summary: string | undefined;
  /** Set if the summary is a digest written by Retinue, because the model did not write a summary. */
  readonly digest: boolean;
  /** Newest exchange in shortened form, if it was too long to be kept. */
  readonly exchange: string;
  readonly mode: PermissionMode;
  readonly facts: RunFacts | undefined;
  /** Set if the agent is a fork, which must keep knowing that. */
  readonly isFork: boolean;
  readonly roster: string;
}

const PROVIDED = "The beginning of this conversation was too long for the context window. A summary replaced it.";

/**
 * Returns the first message of a compacted conversation, or text for its next user turn. Prompts, facts and agents are
 * kept apart from the model's summary, so that the summary can't lose or change them.
 */
export function recordText(record: CompactionRecord, maxCharacters: number): string {
  const { first, latest, summary, digest, exchange, roster, isFork } = record;
  const bound = (text: string, share: number): string =>
    boundText(text, { maxCharacters: Math.floor(maxCharacters * share) }).text;
  const author = digest ? "digest by Retinue, because the model wrote no summary" : "summary, in your own words";
  const sections = [
    summary === undefined
      ? `${PROVIDED} This is what Retinue recorded of it. It is not a new request.`
      : `${SUMMARY_OPENING} This record replaces it. It is not a new request.`,
    isFork ? withinRuntimeTag(FORK_INTRODUCTION) : "",
    section("first_request", first === undefined ? "" : bound(first, 0.2)),
    section("latest_request", latest === undefined || latest === first ? "" : bound(latest, 0.2)),
    section("summary", summary ?? "", author),
    section("newest_exchange", exchange),
    section("facts", bound(factsText(record), 0.1)),
    section("agents", bound(roster, 0.2)),
    "Continue where the work stopped. The files and outputs that you read are no longer in your context: read what you need again, and always read a file again before you edit it.",
  ];
  return runtimeText(sections.filter((text) => text !== "").join("\n\n"));
}

/** Returns the summary from a message that an earlier compaction wrote. */
export function recordedSummary(message: Message): string | undefined {
  const text = textOf(message.content);
  if (message.role !== "user" || !runtimeTextBegins(text, SUMMARY_OPENING)) return undefined;
  const start = /<summary[^<>]*>\n/.exec(text);
  if (start === null) return undefined;
  const from = start.index + start[0].length;
  const end = text.indexOf("\n</summary>", from);
  return end === -1 ? undefined : text.slice(from, end);
}

function factsText({ mode, facts }: CompactionRecord): string {
  const denied = facts?.denied ?? [];
  const changed = facts?.filesChanged ?? [];
  const unknown = facts?.unknown ?? [];
  return [
    `Permission mode: ${mode}.`,
    ...(denied.length === 0 ? [] : ["Denied in this run, and still denied:", ...denied.slice(-10).map(deniedLine)]),
    ...(changed.length === 0 ? [] : ["Files changed in this run:", ...changed.slice(-60).map((path) => `- ${path}`)]),
    ...(unknown.length === 0
      ? []
      : [`Calls with an unknown outcome in this run: ${unknown.length}. Check what they did before you repeat them.`]),
  ].join("\n");
}

function deniedLine({ tool, input }: RunFacts["denied"][number]): string {
  return `- ${tool} ${boundText(input.replace(/\s+/g, " "), { maxCharacters: 200 }).text}`;
}

function section(name: string, text: string, note?: string): string {
  if (text.trim() === "") return "";
  return `<${name}${note === undefined ? "" : ` note="${note}"`}>\n${escapeSections(text.trim())}\n</${name}>`;
}

/** Escapes text that would open or close a section of the record. */
function escapeSections(text: string): string {
  return text.replace(/<(?=\/?(?:first_request|latest_request|summary|newest_exchange|facts|agents)\b)/gi, "&lt;");
}

const TEXTS_SHOWN = 3;
const REQUESTS_SHOWN = 6;
const FILES_SHOWN = 60;
const COMMANDS_SHOWN = 20;

/** Creates a digest that replaces a missing summary. */
export function digestOf(messages: readonly Message[], maxCharacters: number): string {
  const earlier = messages[0] && (recordedSummary(messages[0]) ?? providedSummary(messages[0]));
  const calls = performedCalls(messages);
  const texts = messages.flatMap((message) =>
    message.role === "assistant" && textOf(message.content).trim() !== "" ? [textOf(message.content).trim()] : [],
  );
  const share = Math.floor(maxCharacters / 4);
  const parts = [
    part("From an earlier summary", earlier === undefined ? [] : [bound(earlier, share)]),
    part(
      "Requests",
      requestsIn(messages).map((text) => `- ${clip(text, 400)}`),
    ),
    part("To-do list", todosIn(calls)),
    part("Files changed", changedIn(calls)),
    part("Commands run", commandsIn(calls)),
    part(
      "Your latest messages",
      texts.slice(-TEXTS_SHOWN).map((text) => bound(text, Math.floor(share / TEXTS_SHOWN))),
    ),
  ];
  const text = parts.filter((each) => each !== "").join("\n\n");
  return bound(text === "" ? "Nothing has been done yet." : text, maxCharacters);
}

export interface PerformedCall {
  readonly call: ToolCallBlock;
  readonly result: ToolResultBlock;
}

/** Returns the calls that have results, in order. */
export function performedCalls(messages: readonly Message[]): readonly PerformedCall[] {
  const results = new Map<string, ToolResultBlock>();
  for (const { content } of messages)
    for (const block of content) if (block.type === "tool_result") results.set(block.callId, block);
  return messages
    .filter((message): message is AssistantMessage => message.role === "assistant")
    .flatMap(callsOf)
    .flatMap((call) => {
      const result = results.get(call.callId);
      return result ? [{ call, result }] : [];
    });
}

/** Returns the newest prompts. Omits text that Retinue wrote. */
function requestsIn(messages: readonly Message[]): string[] {
  const texts = messages.flatMap(({ role, content }, index) =>
    role !== "user" || (index === 0 && recordedSummary({ role, content }) !== undefined)
      ? []
      : content.flatMap((block) =>
          block.type === "text" && !isRuntimeText(block.text) && !runtimeTextBegins(block.text, ENVIRONMENT_OPENING)
            ? [block.text.trim()]
            : [],
        ),
  );
  return texts.filter((text) => text !== "").slice(-REQUESTS_SHOWN);
}

function todosIn(calls: readonly PerformedCall[]): string[] {
  const newest = calls.findLast(({ call, result }) => call.name === "TodoWrite" && !result.isError);
  const todos = newest && inputOf(newest.call)["todos"];
  if (!Array.isArray(todos)) return [];
  return todos.flatMap((todo: unknown) => {
    const { content, status } = asRecord(todo);
    return typeof content === "string" ? [`- [${String(status)}] ${clip(content, 200)}`] : [];
  });
}

function changedIn(calls: readonly PerformedCall[]): string[] {
  const paths = calls.flatMap(({ call, result }) => {
    if (result.isError || !["Edit", "Write", "NotebookEdit"].includes(call.name)) return [];
    const { file_path: file, notebook_path: notebook } = inputOf(call);
    return [file ?? notebook].filter((path) => typeof path === "string");
  });
  return [...new Set(paths)].slice(-FILES_SHOWN).map((path) => `- ${path}`);
}

function commandsIn(calls: readonly PerformedCall[]): string[] {
  return calls
    .flatMap(({ call, result }) => {
      const { command } = call.name === "Bash" ? inputOf(call) : {};
      return typeof command === "string" ? [`- ${clip(command, 200)}${result.isError ? " (failed)" : ""}`] : [];
    })
    .slice(-COMMANDS_SHOWN);
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function part(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title}:\n${lines.join("\n")}`;
}

function clip(text: string, maxCharacters: number): string {
  return bound(text.replace(/\s+/g, " "), maxCharacters);
}

function bound(text: string, maxCharacters: number): string {
  return boundText(text, { maxCharacters }).text;
}
