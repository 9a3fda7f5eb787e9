import { addUsage, type DurableEvent, type EventOf, noUsage } from "../protocol/index.ts";
import { type BudgetSpent, tokensOf } from "./budget.ts";

/**
 * What one agent spent by itself, by its journal: for `Budget.restore` after a restart. Of time only that of requests
 * is known for certain, so seconds are the least it can have been; agents it started are for the caller to count.
 */
export function spentOf(events: Iterable<DurableEvent>): Omit<BudgetSpent, "spawns"> {
  let usage = noUsage;
  let [usd, turns, milliseconds, unpriced] = [0, 0, 0, 0];
  for (const event of events) {
    if (!asksModel(event)) continue;
    milliseconds += event.milliseconds ?? 0;
    // A request that failed before it took anything was given back.
    if (event.usage === undefined) continue;
    usage = addUsage(usage, event.usage);
    turns += 1;
    if (event.costUsd === undefined) unpriced += 1;
    else usd += event.costUsd;
  }
  return { tokens: tokensOf(usage), usd, turns, seconds: milliseconds / 1_000, unpriced };
}

type AskingEvent = EventOf<"model.ended" | "model.failed" | "conversation.compacted">;

function asksModel(event: DurableEvent): event is AskingEvent {
  return event.type === "model.ended" || event.type === "model.failed" || event.type === "conversation.compacted";
}
