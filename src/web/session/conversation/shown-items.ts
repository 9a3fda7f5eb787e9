import type { Item } from "../../../client/index.ts";

/**
 * Leaves out items that only repeat how a run ended: the request that failed or was stopped with it, and the start after
 * a pause.
 */
export function shownItems(items: readonly Item[]): readonly Item[] {
  return items.filter((item, index) => {
    const next = items[index + 1];
    if (item.kind === "error")
      return !(next?.kind === "end" && (stops.has(next.reason) || next.message?.includes(item.text)));
    const before = items[index - 1];
    return !(item.kind === "run" && before?.kind === "end" && before.reason === "parked");
  });
}

const stops: ReadonlySet<string> = new Set(["parked", "stopped", "interrupted"]);
