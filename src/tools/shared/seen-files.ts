import type { ToolOutput } from "../../ports/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { failed } from "./failed.ts";

/** What each agent knows of the files it works on, so that nothing it has not seen is overwritten. */
export interface SeenFiles {
  of(agentId: AgentId): SeenByAgent;
  /** The first knows what the other knows now; each goes on by itself. */
  inherit(agentId: AgentId, from: AgentId): void;
  release(agentId: AgentId): void;
}

export interface SeenByAgent {
  /** Lines `first` to `last` of `total` were shown; the parts shown of one version add up. */
  lines(path: string, shown: { version: string; first: number; last: number; total: number | undefined }): void;
  /** The agent knows the whole content: it was shown in full or written by the agent. */
  whole(path: string, version: string): void;
  /** The agent changed a part of what it had seen. */
  edited(path: string, version: string): void;
  versionOf(path: string): string | undefined;
  knowsWhole(path: string): boolean;
}

interface Knowledge {
  version: string;
  whole: boolean;
  /** Parts that were shown, in order, neither touching nor overlapping. */
  parts: readonly Part[];
}
type Part = readonly [first: number, last: number];

/** An agent that has seen more forgets the oldest; it would have to read those again. */
const MAX_FILES = 10_000;

export function createSeenFiles(): SeenFiles {
  const agents = new Map<AgentId, Files>();
  return {
    of(agentId) {
      const files = agents.get(agentId) ?? new Map();
      agents.set(agentId, files);
      return seenByAgent(files);
    },
    inherit: (agentId, from) => void agents.set(agentId, new Map(agents.get(from))),
    release: (agentId) => void agents.delete(agentId),
  };
}

type Files = Map<string, Knowledge>;

function seenByAgent(files: Files): SeenByAgent {
  function remember(path: string, knowledge: Knowledge): void {
    files.delete(path);
    files.set(path, knowledge);
    const oldest = files.size > MAX_FILES ? files.keys().next().value : undefined;
    if (oldest !== undefined) files.delete(oldest);
  }
  return {
    lines(path, { version, first, last, total }) {
      const before = files.get(path);
      const same = before?.version === version ? before : undefined;
      const parts = addPart(same?.parts ?? [], [first, last]);
      const whole = same?.whole === true || (total !== undefined && covers(parts, total));
      remember(path, { version, whole, parts });
    },
    whole: (path, version) => remember(path, { version, whole: true, parts: [] }),
    // Line numbers moved, so parts that were seen no longer tell anything.
    edited: (path, version) => remember(path, { version, whole: files.get(path)?.whole === true, parts: [] }),
    versionOf: (path) => files.get(path)?.version,
    knowsWhole: (path) => files.get(path)?.whole === true,
  };
}

function addPart(parts: readonly Part[], [first, last]: Part): readonly Part[] {
  const apart = parts.filter((part) => part[1] < first - 1 || part[0] > last + 1);
  const touching = parts.filter((part) => !apart.includes(part));
  const from = Math.min(first, ...touching.map((part) => part[0]));
  const to = Math.max(last, ...touching.map((part) => part[1]));
  return [...apart, [from, to] as const].sort((left, right) => left[0] - right[0]);
}

function covers(parts: readonly Part[], total: number): boolean {
  const [only, ...others] = parts;
  return others.length === 0 && only !== undefined && only[0] <= 1 && only[1] >= total;
}

/** Refuses to touch what the agent has not seen as it is now. */
export function refuseUnseen(
  file: { readonly real: string; readonly name: string; readonly version: string },
  known: SeenByAgent,
): ToolOutput | undefined {
  const seen = known.versionOf(file.real);
  if (seen === undefined) return failed(`You have not read ${file.name} yet. Read it first, then repeat this call.`);
  if (seen === file.version) return undefined;
  return failed(`${file.name} changed since you read it. Read it again, then repeat this call with what is there now.`);
}
