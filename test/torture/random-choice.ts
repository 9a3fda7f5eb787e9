import type { Random } from "../reliability/work-script.ts";

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** Returns an array of random length, from 0 to `most`, for the caller to map. */
export function times(random: Random, most: number): readonly undefined[] {
  return Array.from({ length: Math.floor(random() * (most + 1)) });
}
