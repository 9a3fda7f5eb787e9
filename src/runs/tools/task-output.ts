import { formatCount, withTimeLimit } from "../../lib/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import { type AgentId, type JsonObject, outputAddress } from "../../protocol/index.ts";
import type { Dispatcher } from "../subagents/dispatcher.ts";
import { endedNotice, type Subagent, type SubagentResult } from "../subagents/subagent.ts";
import { escapeTags, LONGEST_REPORT, resultText, rosterText, unknownAgentText } from "../subagents/task-text.ts";
import { forDelegators } from "./task.ts";
import { textIn } from "./task-spec.ts";

export const taskOutputSpec: ToolSpec = {
  declaration: {
    name: "TaskOutput",
    description:
      "Returns the progress or the report of a background agent; without task_id, lists your agents and their states. Set `block` with a long timeout to wait until it ends, if your next step or your answer depends on its report. A report that you get here does not arrive again in a notice.",
    inputSchema: {
      type: "object",
      properties: {
        task_id: { type: "string", description: "Id or name of the agent." },
        block: { type: "boolean", description: "Wait until the agent ends. Default: false." },
        timeout: {
          type: "integer",
          minimum: 0,
          maximum: 600_000,
          description: "How long to block, in milliseconds. Default: 30000.",
        },
        offset: { type: "integer", minimum: 0, description: "Character at which to continue a long report." },
      },
    },
  },
  traits: { parallel: true, effects: false },
};

const DEFAULT_WAIT_MS = 30_000;

export function createTaskOutput(dispatcher: Dispatcher, spec: ToolSpec): Tool {
  const { registry } = dispatcher;
  return forDelegators(dispatcher, {
    ...spec,
    // The tool has its own timeout. After that, it may still have to wait until the caller gets its lent slot back.
    timeoutMs: () => Number.MAX_SAFE_INTEGER,
    maxCharacters: 2 * LONGEST_REPORT,
    run: async (input, context) => {
      const id = textIn(input, "task_id");
      const { agentId: caller } = context;
      if (id === undefined) return { content: await rosterOf(dispatcher, caller) };
      const subagent = await registry.find(id, caller);
      if (subagent === undefined)
        return { content: unknownAgentText(id, await registry.all(caller), caller), isError: true };
      return show(subagent, { dispatcher, input, context });
    },
  });
}

interface OutputCall {
  readonly dispatcher: Dispatcher;
  readonly input: JsonObject;
  readonly context: ToolContext;
}

async function show(
  { agentId, agentType, description, inBackground }: Subagent,
  { dispatcher, input, context }: OutputCall,
): Promise<ToolOutput> {
  const ended = await resultOf(agentId, { dispatcher, input, context });
  if (ended) {
    const page = pageOf(ended.end.text, typeof input["offset"] === "number" ? input["offset"] : 0);
    const details = { agentId, status: ended.end.outcome };
    return { content: resultText(ended, page), details, facts: { reported: endedNotice(ended) } };
  }
  const text = dispatcher.registry.live.get(agentId)?.thread.state.run?.text ?? "";
  const progress = text === "" ? "It has written nothing yet." : `So far:\n${escapeTags(text)}`;
  const more = inBackground ? `\n[To see what it has done, open ${outputAddress(agentId)} with Read or Grep.]` : "";
  return {
    content: `Agent ${agentId} (${agentType}: ${description}) is still running. ${progress}${more}`,
    details: { agentId, status: "running" },
  };
}

/**
 * Waits for an agent's result. Returns undefined if the agent is still running. The caller lends its slot while it
 * waits, because the agent may need it.
 */
async function resultOf(
  agentId: AgentId,
  { dispatcher, input, context }: OutputCall,
): Promise<SubagentResult | undefined> {
  const { signal } = context;
  if (!dispatcher.registry.isRunning(agentId)) return dispatcher.registry.resultOf(agentId, signal);
  if (input["block"] !== true) return undefined;
  const resume = dispatcher.registry.live.get(context.agentId)?.yield();
  const { timeout } = input;
  const waitMs = typeof timeout === "number" ? timeout : DEFAULT_WAIT_MS;
  const result = await withTimeLimit(signal, waitMs, (own) => dispatcher.registry.resultOf(agentId, own));
  await resume?.(signal);
  return result;
}

async function rosterOf({ registry }: Dispatcher, caller: AgentId): Promise<string> {
  const unreported = registry.live.get(caller)?.thread.state.background ?? [];
  return rosterText(await registry.all(caller), unreported) || "You have not started any agents.";
}

/**
 * Returns a page of a report. The page ends at the end of a line if possible, and never in the middle of a character.
 */
function pageOf(text: string, offset: number): string {
  if (offset === 0 && text.length <= LONGEST_REPORT) return text;
  if (offset >= text.length) return `[The report has only ${formatCount(text.length)} characters.]`;
  const limit = offset + LONGEST_REPORT;
  const line = text.lastIndexOf("\n", limit - 1) + 1;
  const whole = limit >= text.length ? text.length : line > offset + LONGEST_REPORT / 2 ? line : limit;
  const end = isHighSurrogate(text, whole - 1) ? whole - 1 : whole;
  const more = end < text.length ? ` To continue, call TaskOutput with offset: ${end}.` : "";
  const where = `Characters ${formatCount(offset)} to ${formatCount(end)} of ${formatCount(text.length)}.`;
  return `${text.slice(offset, end)}\n[${where}${more}]`;
}

function isHighSurrogate(text: string, index: number): boolean {
  return index < text.length - 1 && (text.charCodeAt(index) & 0xfc00) === 0xd800;
}
