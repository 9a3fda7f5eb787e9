import type { Item } from "./items.ts";
import { elements, listOf, push, replace } from "./persistent.ts";
import type { AgentView } from "./session-view.ts";

type Items = Pick<AgentView, "items" | "dropped" | "isOpened">;

/** Adds an item, or replaces the one with the same position. An item that was dropped stays dropped. */
export function withItem({ items, dropped, isOpened }: Items, item: Item): Items {
  const index = item.position - dropped;
  if (index < 0 || index > items.length) return { items, dropped, isOpened };
  return { items: index === items.length ? push(items, item) : replace(items, index, item), dropped, isOpened };
}

/** Drops the first items of an agent that is not open once it has twice as many as should be kept. */
export function withinBounds({ items, dropped, isOpened }: Items, keep: number | undefined): Items {
  if (keep === undefined || isOpened || items.length <= 2 * keep) return { items, dropped, isOpened };
  const first = items.length - keep;
  return { items: listOf([...elements(items, first)]), dropped: dropped + first, isOpened };
}
