import { boundText, describeError, formatCount, formatDuration } from "../lib/index.ts";
import { explainDenial, hiddenPredicate } from "../permissions/index.ts";
import type { ExecuteRequest, ResultStore, Tool, ToolContext, ToolOutput } from "../ports/index.ts";
import {
  type CallId,
  type JsonObject,
  type Policy,
  type ResultBlock,
  type TextBlock,
  type ToolCall,
  type ToolResult,
  textResult,
} from "../protocol/index.ts";
import { type CommandGuard, trespassesAmong } from "./guard-commands.ts";
import { hiddenElsewhere } from "./hard-links.ts";
import { authorizeAccess, type JudgedCall, judgeUse, type Place } from "./judge-call.ts";
import { type AbsentTool, type ReadCall, readCall } from "./read-call.ts";
import { type RunLimits, runWithinLimits } from "./run-within-limits.ts";

/** Calls that have been judged, kept so that `execute` does not parse them or apply the same policy a second time. */
export type JudgedCalls = WeakMap<ToolCall, KnownCall>;

interface KnownCall {
  readonly policy: Policy;
  readonly read: Extract<ReadCall, { ok: true }>;
  readonly judged: JudgedCall;
}

export interface ExecutionContext {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly absent: readonly AbsentTool[];
  readonly names: readonly string[];
  readonly place: Place;
  readonly results: ResultStore;
  readonly limits: {
    readonly timeoutMs: number;
    readonly graceMs: number;
    readonly abortGraceMs: number;
    readonly maxCharacters: number;
  };
  readonly judgedCalls: JudgedCalls;
  readonly guard: CommandGuard;
  readonly emit: (progress: string) => void;
  readonly signal: AbortSignal;
  readonly running: RunLimits["running"];
}

/**
 * Decides whether to allow a call, unless that has just been decided. Then runs the tool within its limits and
 * truncates the result. Never rejects.
 */
export async function executeCall(request: ExecuteRequest, execution: ExecutionContext): Promise<ToolResult> {
  const { limits, signal, running } = execution;
  const known = execution.judgedCalls.get(request.call);
  execution.judgedCalls.delete(request.call);
  const judged = known && isAllowed(known, request) ? known.judged : undefined;
  const read = known?.read ?? readCall(request.call, { ...execution, pool: request.policy.pool });
  if (!read.ok) return textResult("error", read.message);
  const { tool, input, remark } = read;
  const limit = timeLimit(tool, input, limits.timeoutMs);
  const bounds = {
    timeoutMs: limit + limits.graceMs,
    abortGraceMs: tool.abortGraceMs ?? limits.abortGraceMs,
    signal,
    running,
  };
  const run = await runWithinLimits(
    (own) => decideAndRun({ request, tool, input, remark, judged, execution, signal: own }),
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
        `${tool.declaration.name} did not stop at its time limit of ${formatDuration(limit)} and was abandoned. Changes that it had already made remain.`,
      );
    case "failed":
      return textResult("error", `${tool.declaration.name} failed: ${describeError(run.error)}`);
  }
}

function isAllowed({ policy, judged }: KnownCall, request: ExecuteRequest): boolean {
  return judged.decision.effect === "allow" && policy === request.policy;
}

interface Attempt {
  readonly request: ExecuteRequest;
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly remark: string | undefined;
  readonly judged: JudgedCall | undefined;
  readonly execution: ExecutionContext;
  readonly signal: AbortSignal;
}

async function decideAndRun(attempt: Attempt): Promise<ToolResult> {
  const { request, tool, input, remark, judged: known, execution, signal } = attempt;
  const { call, policy, grant, agentId } = request;
  const { place, results, limits, guard, emit } = execution;
  const toolName = tool.declaration.name;
  const use = known ? { ok: true as const, judged: known } : await judgeUse({ tool, input, policy, agentId }, place);
  if (!use.ok) return textResult("error", use.message);
  const { judged } = use;
  const granted = grant?.callId === call.callId && grant.inputJson === call.inputJson;
  const { decision } = judged;
  if (decision.effect === "deny" || (decision.effect === "ask" && !granted)) {
    return textResult("denied", explainDenial(decision, call));
  }
  const moved = explainMove(request, judged);
  if (moved !== undefined) return textResult("error", moved);
  if (signal.aborted) return textResult("cancelled", CANCELLED);
  let ended = false;
  let predicate: ((path: string) => boolean) | undefined;
  const hidden = (): ((path: string) => boolean) => {
    predicate ??= hiddenPredicate(policy, place.homes);
    return predicate;
  };
  const context: ToolContext = {
    agentId,
    callId: call.callId,
    signal,
    paths: judged.resolved,
    // In bypassPermissions mode, commands need not be read-only, but files that rules deny must still be hidden from
    // them.
    readsOnly: policy.mode === "bypassPermissions" && !judged.hides ? undefined : decision.readsOnly,
    readableRoots: [...policy.workspaceRoots, ...policy.readableRoots],
    replies: granted ? grant.replies : undefined,
    progress: (text) => {
      if (!ended && !signal.aborted) emit(text);
    },
    authorize: (access) => authorizeAccess(access, { toolName, policy, judged, granted }, place),
    hidden: (path) => hidden()(path),
    hiddenElsewhere: async (paths) => {
      const files = await place.workspace.resolve(paths);
      return hiddenElsewhere(
        files.map(({ requested, hardLink }) => ({ path: requested, hardLink })),
        policy,
        place,
      );
    },
    hidesPaths: judged.hides,
  };
  const isGuarded = context.readsOnly !== true && judged.accesses.some(({ kind }) => kind === "command");
  if (isGuarded) guard.begin();
  const output = await tool.run(input, context).finally(() => {
    ended = true;
  });
  const changes = isGuarded ? guard.end(input["run_in_background"] === true) : guard.look();
  const trespasses = await trespassesAmong(changes, { callId: call.callId, judged, policy, place, results });
  const bounded = await boundResult(output.content, {
    callId: call.callId,
    results,
    maxCharacters: tool.maxCharacters ?? limits.maxCharacters,
  });
  const content: readonly ResultBlock[] = remark === undefined ? bounded : [...bounded, { type: "text", text: remark }];
  const { details } = output;
  const facts = trespasses.length === 0 ? output.facts : { ...output.facts, trespasses };
  return { outcome: output.isError === true ? "error" : "ok", content, details, facts };
}

/** Returns the result of a call that was decided on before a symlink in one of its paths was changed. */
function explainMove({ call, paths = [] }: ExecuteRequest, { resolved }: JudgedCall): string | undefined {
  const moved = paths.find(({ requested, real }) =>
    resolved.some((place) => place.requested === requested && place.real !== real),
  );
  if (moved === undefined) return undefined;
  return `${call.name} was not run: ${moved.requested} led elsewhere when the call was decided on. To use the file that it leads to now, make the call again.`;
}

/**
 * Keeps the result of a tool that finished after the abort, because the result names the files that the tool changed.
 */
function cancelled(last: ToolResult | undefined): ToolResult {
  if (last === undefined || last.outcome === "denied" || last.outcome === "cancelled")
    return textResult("cancelled", CANCELLED);
  return { ...last, outcome: "cancelled", content: [...last.content, { type: "text", text: CANCELLED }] };
}

const CANCELLED = "The call was cancelled before it finished. Changes that it had already made remain.";

function timeLimit(tool: Tool, input: JsonObject, otherwise: number): number {
  try {
    const own = tool.timeoutMs?.(input);
    return own !== undefined && own > 0 ? own : otherwise;
  } catch {
    return otherwise;
  }
}

/**
 * Returns the content as blocks. Text that exceeds the limit is truncated in the middle and saved in full to a file;
 * images are kept.
 */
async function boundResult(
  content: ToolOutput["content"],
  {
    callId,
    results,
    maxCharacters,
  }: { readonly callId: CallId; readonly results: ResultStore; readonly maxCharacters: number },
): Promise<readonly ResultBlock[]> {
  const blocks: readonly ResultBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  let total = 0;
  for (const block of blocks) if (block.type === "text") total += block.text.length;
  if (total <= maxCharacters) return blocks;
  const whole = blocks
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");
  const where = await storeWhole(whole, { callId, results });
  const room = Math.max(0, maxCharacters - where.length - 1);
  const text: TextBlock = { type: "text", text: `${boundText(whole, { maxCharacters: room }).text}\n${where}` };
  return [text, ...blocks.filter((block) => block.type !== "text")];
}

async function storeWhole(
  whole: string,
  { callId, results }: { callId: CallId; results: ResultStore },
): Promise<string> {
  const size = `The whole result has ${formatCount(whole.length)} characters`;
  try {
    const address = await results.save(callId, whole);
    return `[${size}. To see the rest, open ${address} with Read (offset, limit) or Grep.]`;
  } catch (error) {
    return `[${size}. The rest could not be saved: ${describeError(error)}]`;
  }
}
