import {
  type AssistantBlock,
  ENVIRONMENT_OPENING,
  type Line,
  type RunEnd,
  runtimeTextBegins,
  textOf,
  type UserBlock,
  withinRuntimeTag,
} from "../../protocol/index.ts";
import { describeCall } from "../words/describe-call.ts";
import type { Item, ItemPart } from "./items.ts";

export interface ItemsOptions {
  /** Position of the first item. */
  readonly position: number;
  /** The agent's directory. */
  readonly cwd?: string | undefined;
}

/** Returns the items that a line adds to its agent's conversation. */
export function itemsIn(line: Line, { position, cwd }: ItemsOptions): readonly Item[] {
  const parts = partsIn(line, cwd);
  return parts.map((part, index) => ({ ...part, position: position + index, at: line.at }));
}

const nothing: readonly ItemPart[] = [];

function partsIn(line: Line, cwd: string | undefined): readonly ItemPart[] {
  switch (line.type) {
    case "run.started":
      return [{ kind: "run", runId: line.runId, isResumed: line.kind === "resume", model: line.model }];
    case "prompt.received":
      return [{ kind: "prompt", from: line.from, promptId: line.promptId, ...contentOf(line.content) }];
    case "context.added":
      return runtimeTextBegins(line.text, ENVIRONMENT_OPENING)
        ? nothing
        : [{ kind: "told", text: withinRuntimeTag(line.text), cause: line.cause }];
    case "notices.delivered":
      return [{ kind: "agents", text: withinRuntimeTag(line.text), ended: line.notices }];
    case "model.ended":
      return line.message.content.flatMap((block) => blockPart(block, { turn: line.turn, cwd }));
    case "model.failed": {
      const partial = line.partial.flatMap((block) => blockPart(block, { turn: line.turn, cwd, isCutOff: true }));
      // The user who stopped the request knows why it failed, and the end of the run says so too.
      return line.error.code === "aborted" ? partial : [...partial, { kind: "error", text: line.error.message }];
    }
    case "model.retried":
      return [{ kind: "retry", text: line.retry.error, retry: line.retry }];
    case "notice.raised":
      return [{ kind: "notice", text: line.message, code: line.code }];
    case "conversation.compacted": {
      const { summary, trigger, before, after } = line;
      return [{ kind: "compaction", summary, trigger, before, after }];
    }
    case "hooks.ran": {
      const { event, ran, callId, decision, reason, inputJson, context } = line;
      const told = context === undefined ? undefined : withinRuntimeTag(context);
      const hadEffect = [decision, reason, inputJson, context].some((effect) => effect !== undefined);
      return hadEffect
        ? [{ kind: "hook", hook: { event, ran, callId, decision, reason, inputJson, context: told } }]
        : nothing;
    }
    case "acceptance.checked": {
      const { command, ok, exitCode, output, verdict } = line;
      return [{ kind: "acceptance", check: { command, ok, exitCode, output, verdict } }];
    }
    case "plan.entered":
    case "run.backgrounded":
      return [{ kind: "change", change: line.type }];
    case "conversation.rewound":
      return [{ kind: "change", change: line.type, restored: line.restored }];
    case "plan.left":
    case "mode.changed":
      return [{ kind: "change", change: line.type, mode: line.mode }];
    case "run.awaited":
      return [{ kind: "change", change: line.type, agentId: line.agentId }];
    case "agent.resumed":
      // If a call resumed the agent, the call's item already names it.
      return line.callId === undefined ? [{ kind: "change", change: line.type, agentId: line.agentId }] : nothing;
    case "run.ended": {
      const { outcome, reason, limit, message, text, turns, usage, costUsd, milliseconds } = line;
      const unverified = unverifiedIn(line);
      return [{ kind: "end", outcome, reason, limit, message, text, turns, usage, costUsd, milliseconds, unverified }];
    }
    default:
      return nothing;
  }
}

/** Names the changes that were not verified because a run ended early; undefined if there are none. */
export function unverifiedIn({ outcome, acceptance }: Pick<RunEnd, "outcome" | "acceptance">): string | undefined {
  return outcome !== "succeeded" && acceptance?.verdict === "inconclusive" ? acceptance.output : undefined;
}

function contentOf(content: readonly UserBlock[]): { readonly text: string; readonly images: number } {
  return { text: textOf(content), images: content.filter(({ type }) => type === "image").length };
}

interface BlockOptions {
  readonly turn: number;
  readonly cwd: string | undefined;
  readonly isCutOff?: true | undefined;
}

function blockPart(block: AssistantBlock, { turn, cwd, isCutOff }: BlockOptions): readonly ItemPart[] {
  switch (block.type) {
    case "text":
    case "thinking":
      return block.text === "" ? [] : [{ kind: block.type, turn, text: block.text, isCutOff }];
    case "tool_call": {
      const { callId, name, inputJson } = block;
      return [{ kind: "call", callId, name, inputJson, target: describeCall(block, cwd) }];
    }
    case "opaque":
      return [];
  }
}
