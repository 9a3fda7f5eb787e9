import type { ResolvedAgent } from "./resolved-agent.ts";

type Sharing = (agent: ResolvedAgent) => ResolvedAgent;

const MOST_KINDS = 64;

/**
 * Agents of one kind get the very head and policy of the first of them: whoever makes something of these, a request's
 * first bytes or compiled rules, makes it once.
 */
export function createSharing(): Sharing {
  const heads: ResolvedAgent["head"][] = [];
  const policies: ResolvedAgent["policy"][] = [];
  return (agent) => ({ ...agent, head: shared(heads, agent.head), policy: shared(policies, agent.policy) });
}

function shared<T extends object>(known: T[], made: T): T {
  const same = known.find((each) => isAlike(each, made));
  if (same !== undefined) return same;
  known.unshift(made);
  known.length = Math.min(known.length, MOST_KINDS);
  return made;
}

/** The same values under the same names in the same order; of lists the same elements. */
function isAlike(left: object, right: object): boolean {
  const [names, others] = [Object.keys(left), Object.keys(right)];
  return isSameList(names, others) && isSameList(Object.values(left), Object.values(right), isSameValue);
}

function isSameValue(left: unknown, right: unknown): boolean {
  return Array.isArray(left) && Array.isArray(right) ? isSameList(left, right) : Object.is(left, right);
}

function isSameList(left: readonly unknown[], right: readonly unknown[], isSame = Object.is): boolean {
  return left.length === right.length && left.every((each, index) => isSame(each, right[index]));
}
