import { limitHands } from "../agents/index.ts";
import type { Hands } from "../ports/index.ts";
import type { Rule } from "../protocol/index.ts";

type Limits = readonly (readonly Rule[])[];

const held = new WeakMap<Hands, Limits>();

/** Hands that hold these limits, and remember them with those that `hands` hold already: hands elsewhere must hold them too. */
export function holdLimits(hands: Hands, limits: Limits, before: Limits = limitsOf(hands)): Hands {
  const limited = limits.reduce(limitHands, hands);
  held.set(limited, [...before, ...limits]);
  return limited;
}

export function limitsOf(hands: Hands): Limits {
  return held.get(hands) ?? [];
}
