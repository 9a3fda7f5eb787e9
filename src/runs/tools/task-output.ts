import { formatCount, withTimeLimit } from "../../lib/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { AgentId, JsonObject } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { rosterText } from "../subagents/roster-text.ts";
import type { Subagent, SubagentResult } from "../subagents/subagent.ts";
import { LONGEST_REPORT, neutral, resultText } from "../subagents/task-text.ts";
import { unknownId } from "./task.ts";
import { textIn } from "./task-input.ts";

const usualWait = 30_000;

export function createTaskOutput(dispatcher: Dispatcher): Omit<Tool, keyof ToolSpec> {
  return {
    // It waits no longer than it was told to, and then perhaps for the place that it lent meanwhile.
    timeoutMs: () => Number.MAX_SAFE_INTEGER,
    maxCharacters: 2 * LONGEST_REPORT,
    run: async (input, context) => {
      const id = textIn(input, "task_id");
      const { agentId: caller } = context;
      if (id === undefined) return { content: await listed(dispatcher, caller) };
      const subagent = await dispatcher.registry.find(id, caller);
      if (subagent === undefined) return { content: await unknownId(dispatcher, id, caller), isError: true };
      return show(subagent, { dispatcher, input, context });
    },
  };
}

interface Asking {
  readonly dispatcher: Dispatcher;
  readonly input: JsonObject;
  readonly context: ToolContext;
}

async function show(
  { agentId, agentType, description }: Subagent,
  { dispatcher, input, context }: Asking,
): Promise<ToolOutput> {
  const ended = await endOf(agentId, { dispatcher, input, context });
  if (ended) {
    const page = pageOf(ended.end.text, typeof input["offset"] === "number" ? input["offset"] : 0);
    return { content: resultText(ended, page), details: { agentId, status: ended.end.outcome } };
  }
  const soFar = dispatcher.registry.live.get(agentId)?.thread.state.run?.text ?? "";
  const words = soFar === "" ? "It has said nothing yet." : `So far:\n${neutral(soFar)}`;
  return {
    content: `Agent ${agentId} (${agentType}: ${description}) is still running. ${words}`,
    details: { agentId, status: "running" },
  };
}

/** Undefined: it still runs. Who waits lends its place: the one it waits for may need it. */
async function endOf(agentId: AgentId, { dispatcher, input, context }: Asking): Promise<SubagentResult | undefined> {
  const { signal } = context;
  if (!dispatcher.registry.isRunning(agentId)) return dispatcher.registry.resultOf(agentId, signal);
  if (input["block"] !== true) return undefined;
  const goOn = dispatcher.registry.live.get(context.agentId)?.yield();
  const ended = await withTimeLimit(signal, waitOf(input), (own) => dispatcher.registry.resultOf(agentId, own));
  await goOn?.(signal);
  return ended;
}

function waitOf(input: JsonObject): number {
  const { timeout } = input;
  return typeof timeout === "number" ? timeout : usualWait;
}

/** Without an id: those that the caller has. */
async function listed(dispatcher: Dispatcher, caller: AgentId): Promise<string> {
  const untold = dispatcher.registry.live.get(caller)?.thread.state.background ?? [];
  return rosterText(await dispatcher.registry.all(caller), untold) || "You have started no agents.";
}

/**
 * What a report that is read page by page goes on with is told where it matters; in every request it would only cost
 * bytes. Who leaves out the id gets a list instead of an error.
 */
export function takingOffset({ declaration, ...spec }: ToolSpec): ToolSpec {
  const { inputSchema } = declaration;
  const properties = { ...(inputSchema["properties"] as JsonObject), offset: { type: "integer", minimum: 0 } };
  return { ...spec, declaration: { ...declaration, inputSchema: { ...inputSchema, properties, required: [] } } };
}

/** Whole lines where they fit, never half a character. */
function pageOf(text: string, offset: number): string {
  if (offset === 0 && text.length <= LONGEST_REPORT) return text;
  if (offset >= text.length) return `[The report has ${formatCount(text.length)} characters; nothing is behind them.]`;
  const limit = offset + LONGEST_REPORT;
  const line = text.lastIndexOf("\n", limit - 1) + 1;
  const whole = limit >= text.length ? text.length : line > offset + LONGEST_REPORT / 2 ? line : limit;
  const end = isHigh(text, whole - 1) ? whole - 1 : whole;
  const more = end < text.length ? ` TaskOutput with offset: ${end} goes on.` : "";
  const where = `Characters ${formatCount(offset)} to ${formatCount(end)} of ${formatCount(text.length)}.`;
  return `${text.slice(offset, end)}\n[${where}${more}]`;
}

function isHigh(text: string, at: number): boolean {
  return at < text.length - 1 && (text.charCodeAt(at) & 0xfc00) === 0xd800;
}
