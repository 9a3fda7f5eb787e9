import type { AgentResolution } from "./assemble-agent.ts";
import { resolveSubagent, type SubagentRequest } from "./resolve-subagent.ts";
import type { ResolvedAgent } from "./resolved-agent.ts";

type Sharing = (agent: ResolvedAgent) => ResolvedAgent;

const MOST_KINDS = 64;

/**
 * Agents of one kind get the very head and policy of the first of them: whoever makes something of these, a request's
 * first bytes or compiled rules, makes it once.
 */
export function createSharing(): Sharing {
  const heads = rememberKinds<ResolvedAgent["head"]>();
  const policies = rememberKinds<ResolvedAgent["policy"]>();
  return (agent) => ({ ...agent, head: heads(agent.head), policy: policies(agent.policy) });
}

/** `resolveSubagent` for hundreds of wishes of one moment, which mostly are one wish. */
export function createResolving(): (request: SubagentRequest) => AgentResolution {
  const requests = rememberKinds<SubagentRequest>();
  const resolutions = new WeakMap<SubagentRequest, AgentResolution>();
  return (made) => {
    const request = requests(made);
    const resolution = resolutions.get(request) ?? resolveSubagent(request);
    resolutions.set(request, resolution);
    return resolution;
  };
}

/** Gives the first of those that are alike. */
function rememberKinds<T extends object>(): (made: T) => T {
  const known: T[] = [];
  return (made) => {
    const same = known.find((each) => isAlike(each, made));
    if (same !== undefined) return same;
    known.unshift(made);
    known.length = Math.min(known.length, MOST_KINDS);
    return made;
  };
}

/** Small objects and lists within it are compared by what they hold, and what these hold by identity. */
const DEPTH = 2;

/** The same values under the same names in the same order. */
function isAlike(left: unknown, right: unknown, depth = DEPTH): boolean {
  if (Object.is(left, right)) return true;
  if (depth === 0 || !isPlain(left) || !isPlain(right) || Array.isArray(left) !== Array.isArray(right)) return false;
  const [names, others] = [Object.keys(left), Object.keys(right)];
  return (
    names.length === others.length &&
    names.every((name, index) => name === others[index] && isAlike(left[name], right[name], depth - 1))
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return Array.isArray(value) || (typeof value === "object" && value !== null && isBare(value));
}

function isBare(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}
