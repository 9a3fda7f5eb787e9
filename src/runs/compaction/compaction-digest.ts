import { boundText } from "../../lib/index.ts";
import {
  type AssistantMessage,
  callsOf,
  type Message,
  type ToolCallBlock,
  type ToolResultBlock,
  textOf,
} from "../../protocol/index.ts";
import { recordedSummary } from "./compaction-record.ts";

const WORDS_SHOWN = 3;
const REQUESTS_SHOWN = 6;
const FILES_SHOWN = 60;
const COMMANDS_SHOWN = 20;

/** What the runtime itself can say of a conversation when the model does not: no opinion, only what is there. */
export function digestOf(messages: readonly Message[], maxCharacters: number): string {
  const earlier = messages[0] && recordedSummary(messages[0]);
  const calls = performedCalls(messages);
  const words = messages.flatMap((message) =>
    message.role === "assistant" && textOf(message.content).trim() !== "" ? [textOf(message.content).trim()] : [],
  );
  const share = Math.floor(maxCharacters / 4);
  const parts = [
    part("Said before, in an earlier summary", earlier === undefined ? [] : [bound(earlier, share)]),
    part(
      "Asked for",
      requestsIn(messages).map((text) => `- ${clip(text, 400)}`),
    ),
    part("To-do list", todosIn(calls)),
    part("Files changed", changedIn(calls)),
    part("Commands run", commandsIn(calls)),
    part(
      "Your last words",
      words.slice(-WORDS_SHOWN).map((text) => bound(text, Math.floor(share / WORDS_SHOWN))),
    ),
  ];
  const text = parts.filter((each) => each !== "").join("\n\n");
  return bound(text === "" ? "Nothing was done yet." : text, maxCharacters);
}

export interface PerformedCall {
  readonly call: ToolCallBlock;
  readonly result: ToolResultBlock;
}

/** Calls with their results, in order. */
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

/** Whoever asked; what the runtime said stands in brackets. */
function requestsIn(messages: readonly Message[]): string[] {
  const said = messages.flatMap(({ role, content }, index) =>
    role !== "user" || (index === 0 && recordedSummary({ role, content }) !== undefined)
      ? []
      : content.flatMap((block) => (block.type === "text" && !/^\s*\[/.test(block.text) ? [block.text.trim()] : [])),
  );
  return said.filter((text) => text !== "").slice(-REQUESTS_SHOWN);
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

function inputOf({ inputJson }: ToolCallBlock): Record<string, unknown> {
  try {
    return asRecord(JSON.parse(inputJson));
  } catch {
    return {};
  }
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
