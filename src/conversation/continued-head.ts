import type { Head } from "../protocol/index.ts";

/**
 * Returns the head with which a conversation continues: the tools and texts that its responses were written after, with
 * the parameters of `now`, such as the effort. Another model continues with `now`.
 */
export function continuedHead(stored: Head, now: Head): Head {
  if (stored === now || !isSameModel(stored, now)) return now;
  const known = continuations.get(now);
  if (known?.stored === stored) return known.continued;
  const continued = combined(stored, now);
  continuations.set(now, { stored, continued });
  return continued;
}

/** The newest result for each head, because it is asked for with every call. */
const continuations = new WeakMap<Head, { readonly stored: Head; readonly continued: Head }>();

function combined(stored: Head, now: Head): Head {
  const { tools, system, systemContext, userContext } = stored;
  const continued = { ...now, tools, system, systemContext, userContext };
  const names = new Set([...Object.keys(stored), ...Object.keys(continued)]) as ReadonlySet<keyof Head>;
  const isSame = [...names].every((name) => JSON.stringify(stored[name]) === JSON.stringify(continued[name]));
  return isSame ? stored : continued;
}

export function isSameModel(left: Head, right: Head): boolean {
  return left.provider === right.provider && left.model === right.model && left.dialect === right.dialect;
}
