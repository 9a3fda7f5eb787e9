import type { DurableEvent, ReservedSpend, Usage } from "../protocol/index.ts";
import { addUsage, noUsage } from "../protocol/index.ts";

/** A request whose cost is reserved and whose response has not been recorded yet. */
export interface UnderWay {
  /**
   * Id of the tool call that makes the request, or else the kind of request: `turn` or `compaction`. An agent has at
   * most one request in progress for each of these.
   */
  readonly request: string;
  readonly reserved: ReservedSpend;
  /** Cost of earlier attempts whose responses were interrupted. */
  readonly lost?: { readonly usage: Usage; readonly costUsd: number | undefined } | undefined;
}

/** Returns the requests that are in progress after an event. */
export function foldUnderWay(before: readonly UnderWay[], event: DurableEvent): readonly UnderWay[] {
  switch (event.type) {
    case "model.requested":
      return event.reserved ? opened(before, { request: "turn", reserved: event.reserved }) : before;
    case "spend.reserved":
      return opened(before, event);
    case "model.retried":
      return event.usage ? withLost(before, event.usage, event.costUsd) : before;
    case "model.ended":
    case "model.failed":
      return closed(before, "turn");
    case "tool.ended":
      return closed(before, event.callId);
    case "conversation.compacted":
      return closed(before, "compaction");
    case "spend.recorded":
      return event.estimated ? [] : closed(before, "compaction");
    default:
      return before;
  }
}

/** Returns the charge for requests whose responses are lost. */
export function chargeOf(requests: readonly UnderWay[]): {
  readonly usage: Usage;
  readonly costUsd: number | undefined;
} {
  let usage = noUsage;
  let costUsd: number | undefined = 0;
  for (const { reserved, lost } of requests) {
    const { inputTokens, outputTokens } = reserved;
    usage = addUsage(addUsage(usage, { ...noUsage, inputTokens, outputTokens }), lost?.usage ?? noUsage);
    costUsd = sumCosts(sumCosts(costUsd, reserved.costUsd), lost ? lost.costUsd : 0);
  }
  return { usage, costUsd };
}

function opened(before: readonly UnderWay[], { request, reserved }: UnderWay): readonly UnderWay[] {
  return [...closed(before, request), { request, reserved }];
}

function withLost(before: readonly UnderWay[], usage: Usage, costUsd: number | undefined): readonly UnderWay[] {
  return before.map((each) => {
    if (each.request !== "turn") return each;
    const { lost = { usage: noUsage, costUsd: 0 } } = each;
    return { ...each, lost: { usage: addUsage(lost.usage, usage), costUsd: sumCosts(lost.costUsd, costUsd) } };
  });
}

/** Adds two costs. Returns undefined if either cost is unknown. */
export function sumCosts(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

function closed(before: readonly UnderWay[], request: string): readonly UnderWay[] {
  return before.some((each) => each.request === request) ? before.filter((each) => each.request !== request) : before;
}
