import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { describeError } from "../lib/index.ts";
import { explainDenial, readsOnly } from "../permissions/index.ts";
import type { Hands, HandsRequest, Judgement, ResultStore, Tool, Workspace } from "../ports/index.ts";
import { type AgentId, canonicalToolName, type Policy, type ToolCall } from "../protocol/index.ts";
import { type AllowedCalls, executeCall, textResult } from "./execute-call.ts";
import { judgeCall } from "./judge-call.ts";
import { unknownTraits } from "./lazy-hands.ts";
import { readCall } from "./read-call.ts";
import { releaseAgent } from "./release-agent.ts";

export interface HandsLimits {
  /** For tools that do not say how long they may take. */
  readonly timeoutMs?: number;
  /** What a tool gets beyond its limit to end its work by itself. */
  readonly graceMs?: number;
  /** How long an aborted tool may take to say how far it came. */
  readonly abortGraceMs?: number;
  /** How long letting go of what agents hold may take. */
  readonly releaseMs?: number;
  /** Characters of a result's text that the model is given. */
  readonly maxCharacters?: number;
}

export interface HandsOptions {
  /** Declared to models in this order. */
  readonly tools: readonly Tool[];
  readonly workspace: Workspace;
  readonly results: ResultStore;
  readonly limits?: HandsLimits;
  /** What `~/` means in rules; the home of this process unless told otherwise. */
  readonly home?: string;
}

/** Hands of this process. */
export function createHands(options: HandsOptions): Hands {
  const { workspace, results } = options;
  const tools = new Map(options.tools.map((tool) => [tool.declaration.name, tool]));
  const declarations = options.tools.map((tool) => tool.declaration);
  const limits = { ...defaultLimits, ...options.limits };
  const place = { workspace, homes: homesOf(options.home ?? homedir()) };
  /** What needs no answer is done at once: who asked for the judgement of this very call need not judge it again. */
  const allowed: AllowedCalls = new WeakMap();
  const running = new Map<AgentId, Set<(reason: Error) => void>>();
  let closed = false;

  async function judge(call: ToolCall, policy: Policy): Promise<Judgement> {
    const read = readCall(call, { tools, pool: policy.pool });
    if (!read.ok) return { kind: "invalid", message: read.message };
    const judged = await judgeCall({ toolName: read.tool.declaration.name, input: read.input, policy }, place);
    const { decision, accesses } = judged;
    if (decision.effect === "allow") allowed.set(call, { policy, read, judged });
    const denial = decision.effect === "allow" ? {} : { denial: explainDenial(decision, call) };
    return { kind: "decided", decision, accesses, ...(readsOnly(accesses) && { readsOnly: true }), ...denial };
  }

  async function execute(request: HandsRequest, emit: (progress: string) => void, signal: AbortSignal) {
    if (closed) return textResult("cancelled", "The call was not started: the session is ending.");
    const mine = running.get(request.agentId) ?? new Set();
    running.set(request.agentId, mine);
    try {
      return await executeCall(request, { tools, place, results, limits, allowed, emit, signal, running: mine });
    } catch (error) {
      return textResult("error", `${request.call.name} could not be run: ${describeError(error)}`);
    }
  }

  async function release(agentId: AgentId): Promise<void> {
    for (const end of [...(running.get(agentId) ?? [])]) end(new Error("The agent was let go."));
    running.delete(agentId);
    await releaseAgent(agentId, options.tools, limits.releaseMs);
  }

  return {
    declarations: () => declarations,
    traits: (toolName) => tools.get(canonicalToolName(toolName))?.traits ?? unknownTraits,
    judge,
    execute,
    inherit: (agentId, from) => {
      for (const tool of options.tools) tool.inherit?.(agentId, from);
    },
    release,
    close: async () => {
      closed = true;
      await Promise.all([...running.keys()].map(release));
    },
  };
}

const defaultLimits: Required<HandsLimits> = {
  timeoutMs: 120_000,
  graceMs: 1_500,
  abortGraceMs: 250,
  releaseMs: 15_000,
  maxCharacters: 30_000,
};

function homesOf(home: string): readonly string[] {
  try {
    const real = realpathSync.native(home);
    return real === home ? [home] : [home, real];
  } catch {
    return [home];
  }
}
