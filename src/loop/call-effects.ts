import {
  canonicalToolName,
  type JsonObject,
  type ToolCall,
  type ToolFacts,
  type ToolResult,
} from "../protocol/index.ts";
import type { CallState } from "./call-state.ts";

/** What a call waits for or checks on. */
export type Wait = "agent" | "shell" | "command";

/**
 * Built-in tools that change nothing outside the agent. TodoWrite is included, because the to-do list belongs to the
 * agent.
 */
const readers = new Set([
  "Read",
  "Grep",
  "Glob",
  "LS",
  "WebFetch",
  "WebSearch",
  "Skill",
  "TodoWrite",
  "TaskOutput",
  "BashOutput",
]);
/** Built-in tools that report every file that they change. */
const editors = new Set(["Edit", "Write", "NotebookEdit"]);
/** Built-in tools that have done nothing if they report an error. */
const allOrNothing = new Set(["TaskStop", "SendMessage", "KillShell", "EnterPlanMode", "ExitPlanMode"]);

/**
 * Returns whether the call may have changed something outside the agent. `state` is the state of the call before it
 * ended. A call that was refused never started and had no effect. A call that ran may have had an effect unless it is
 * known to be read-only.
 */
export function mayHaveChanged(state: CallState, result: ToolResult): boolean {
  const { filesChanged = [], launched, agent } = result.facts ?? {};
  if (filesChanged.length > 0 || launched || agent || state.agentId !== undefined) return true;
  const { outcome } = result;
  if (state.status !== "started" || outcome === "denied") return false;
  const name = canonicalToolName(state.call.name);
  // A cycle that contains a wait never ends a run, so no harm is done if the command does more than wait.
  if (state.readsOnly || readers.has(name) || waitOf(state.call) !== undefined) return false;
  if (editors.has(name)) return outcome !== "ok" && outcome !== "error";
  // If a resumable call had an effect, it started or resumed an agent. That case was handled above.
  return !(state.resumable || allOrNothing.has(name)) || outcome !== "error";
}

/**
 * Adds facts to the result of a call that was started: what it may have done, if it was ended before its tool had
 * finished, and that its command is proven to be read-only.
 */
export function withKnownFacts(result: ToolResult, state: CallState | undefined): ToolResult {
  if (state === undefined) return result;
  const isCut = result.outcome === "unknown" || result.outcome === "cancelled" || result.outcome === "timeout";
  const facts = result.facts ?? (isCut ? possibleFacts(state.call) : undefined);
  if (facts?.command === undefined || state.readsOnly === undefined) return { ...result, facts };
  return { ...result, facts: { ...facts, command: { ...facts.command, readsOnly: true } } };
}

function possibleFacts(call: ToolCall): ToolFacts | undefined {
  const { command, file_path, notebook_path: path = file_path } = inputOf(call);
  const name = canonicalToolName(call.name);
  if (name === "Bash" && typeof command === "string") return { command: { command, exitCode: null } };
  return editors.has(name) && typeof path === "string" ? { mayHaveChanged: [path] } : undefined;
}

/** Returns what the calls in progress may have done, other than those that wait for a subagent. */
export function commandsUnderWay(calls: readonly CallState[]): readonly string[] {
  const open = calls.filter(({ status, readsOnly, agentId }) => status === "started" && !readsOnly && !agentId);
  return open.flatMap(({ call }) => {
    const { command, mayHaveChanged = [] } = possibleFacts(call) ?? {};
    return command ? [command.command] : mayHaveChanged.map((path) => `${call.name} ${path} (not finished)`);
  });
}

/** Returns what the call waits for. Undefined if the call is not a wait. */
export function waitOf(call: ToolCall): Wait | undefined {
  const name = canonicalToolName(call.name);
  if (name === "TaskOutput") return "agent";
  if (name === "BashOutput") return "shell";
  if (name !== "Bash" || !call.inputJson.includes("sleep")) return undefined;
  const { command } = inputOf(call);
  return typeof command === "string" && sleeps.test(command) ? "command" : undefined;
}

const sleeps = /(^|[\s;&|(])sleep\s+["']?[\d.$]/;

/** Returns the input as the model wrote it. Empty if the input is not a JSON object. */
export function inputOf({ inputJson }: ToolCall): JsonObject {
  try {
    const input: unknown = JSON.parse(inputJson);
    return typeof input === "object" && input !== null ? (input as JsonObject) : {};
  } catch {
    return {};
  }
}
