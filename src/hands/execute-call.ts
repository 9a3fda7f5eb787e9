import { describeError, formatDuration } from "../lib/index.ts";
import { explainDenial, hiddenPredicate } from "../permissions/index.ts";
import type { HandsRequest, ResultStore, Tool, ToolContext, ToolOutput } from "../ports/index.ts";
import type { CallOutcome, JsonObject, Policy, ToolCall, ToolResult } from "../protocol/index.ts";
import { authorizeAccess } from "./authorize-access.ts";
import { boundResult } from "./bound-result.ts";
import { type JudgedCall, judgeCall, type Place } from "./judge-call.ts";
import { type ReadCall, readCall } from "./read-call.ts";
import { type OwnSignal, type RunLimits, runWithinLimits } from "./run-within-limits.ts";

/** Calls that the policy allows without a word from anybody. */
export type AllowedCalls = WeakMap<ToolCall, AllowedCall>;

interface AllowedCall {
  readonly policy: Policy;
  readonly read: Extract<ReadCall, { ok: true }>;
  readonly judged: JudgedCall;
}

export interface Circumstances {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly place: Place;
  readonly results: ResultStore;
  readonly limits: {
    readonly timeoutMs: number;
    readonly graceMs: number;
    readonly abortGraceMs: number;
    readonly maxCharacters: number;
  };
  readonly allowed: AllowedCalls;
  readonly emit: (progress: string) => void;
  readonly signal: AbortSignal;
  readonly running: RunLimits["running"];
}

/** Decides (again, if somebody had to be asked meanwhile), runs the tool within its limits, bounds what it says. Never rejects. */
export async function executeCall(request: HandsRequest, circumstances: Circumstances): Promise<ToolResult> {
  const { limits, signal, running } = circumstances;
  const known = takeAllowed(request, circumstances.allowed);
  const read = known?.read ?? readCall(request.call, { tools: circumstances.tools, pool: request.policy.pool });
  if (!read.ok) return textResult("error", read.message);
  const { tool, input } = read;
  const limit = timeLimit(tool, input, limits.timeoutMs);
  const bounds = {
    timeoutMs: limit + limits.graceMs,
    abortGraceMs: tool.abortGraceMs ?? limits.abortGraceMs,
    signal,
    running,
  };
  const run = await runWithinLimits(
    (own) => decideAndRun({ request, tool, input, judged: known?.judged, circumstances, own }),
    bounds,
  );
  switch (run.kind) {
    case "done":
      return run.value;
    case "cancelled":
      return cancelled(run.value);
    case "timeout":
      return textResult(
        "timeout",
        `${tool.declaration.name} did not end within ${formatDuration(limit)} and was given up. What it did until then stands.`,
      );
    case "failed":
      return textResult("error", `${tool.declaration.name} failed: ${describeError(run.error)}`);
  }
}

function takeAllowed({ call, policy }: HandsRequest, allowed: AllowedCalls): AllowedCall | undefined {
  const known = allowed.get(call);
  allowed.delete(call);
  return known?.policy === policy ? known : undefined;
}

interface Attempt {
  readonly request: HandsRequest;
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly judged: JudgedCall | undefined;
  readonly circumstances: Circumstances;
  readonly own: OwnSignal;
}

async function decideAndRun({ request, tool, input, judged: known, circumstances, own }: Attempt): Promise<ToolResult> {
  const { call, policy, grant, agentId, recorded } = request;
  const { place, results, limits, emit } = circumstances;
  const toolName = tool.declaration.name;
  const judged = known ?? (await judgeCall({ toolName, input, policy }, place));
  const granted = grant?.callId === call.callId && grant.inputJson === call.inputJson;
  const { decision } = judged;
  if (decision.effect === "deny" || (decision.effect === "ask" && !granted)) {
    return textResult("denied", explainDenial(decision, call));
  }
  if (!tool.traits.prepares) await recorded;
  if (own.aborted) return textResult("cancelled", CANCELLED);
  let ended = false;
  let hidden: ((path: string) => boolean) | undefined;
  const context: ToolContext = {
    agentId,
    callId: call.callId,
    get signal() {
      return own.signal;
    },
    recorded: async () => recorded,
    progress: (text) => {
      if (!ended && !own.aborted) emit(text);
    },
    authorize: (access) => authorizeAccess(access, { toolName, policy, judged, granted }, place),
    hidden: (path) => {
      hidden ??= hiddenPredicate(policy, place.homes);
      return hidden(path);
    },
  };
  const output = await tool.run(input, context).finally(() => {
    ended = true;
  });
  const content = await boundResult(output.content, {
    callId: call.callId,
    results,
    maxCharacters: tool.maxCharacters ?? limits.maxCharacters,
  });
  return withDetails({ outcome: output.isError === true ? "error" : "ok", content }, output);
}

function withDetails(result: ToolResult, { details, facts }: Pick<ToolOutput, "details" | "facts">): ToolResult {
  return { ...result, ...(details !== undefined && { details }), ...(facts !== undefined && { facts }) };
}

/** What the tool told in its last moment is kept: the files it changed are changed. */
function cancelled(last: ToolResult | undefined): ToolResult {
  if (last === undefined || last.outcome === "denied" || last.outcome === "cancelled")
    return textResult("cancelled", CANCELLED);
  return { ...last, outcome: "cancelled", content: [...last.content, { type: "text", text: CANCELLED }] };
}

const CANCELLED = "The call was cancelled before it ended. What it did until then stands.";

function timeLimit(tool: Tool, input: JsonObject, otherwise: number): number {
  try {
    const own = tool.timeoutMs?.(input);
    return own !== undefined && own > 0 ? own : otherwise;
  } catch {
    return otherwise;
  }
}

export function textResult(outcome: CallOutcome, text: string): ToolResult {
  return { outcome, content: [{ type: "text", text }] };
}
