import type { Head } from "../../protocol/index.ts";

const MOST_HEADS = 64;

/**
 * Returns a function that maps equal heads to one object. The bytes of a head are kept for each object, so hundreds of
 * agents of one kind have them once. Held by the session; keeps the heads that were used last.
 */
export function createHeadCache(): (head: Head) => Head {
  const heads = new Map<string, Head>();
  return (head) => {
    const key = JSON.stringify(head);
    const shared = heads.get(key) ?? head;
    heads.delete(key);
    heads.set(key, shared);
    const [oldest] = heads.keys();
    if (heads.size > MOST_HEADS && oldest !== undefined) heads.delete(oldest);
    return shared;
  };
}
