import type { ToolOutput } from "../../ports/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { failed } from "./failed.ts";

/**
 * Tracks which parts of which files each agent has seen, so that agents do not overwrite content that they have not
 * seen.
 */
export interface SeenFiles {
  of(agentId: AgentId): SeenByAgent;
  /** Copies another agent's record of seen files. */
  inherit(agentId: AgentId, from: AgentId): void;
  release(agentId: AgentId): void;
}

export interface SeenByAgent {
  /** Records that lines `first` to `last` of `total` were shown. Parts of the same version are combined. */
  lines(path: string, shown: { version: string; first: number; last: number; total: number | undefined }): void;
  /** Records that the agent has seen the whole content, because it was shown to the agent or written by it. */
  whole(path: string, version: string): void;
  /** Records that the agent changed a part of the file. */
  edited(path: string, version: string): void;
  versionOf(path: string): string | undefined;
  knowsWhole(path: string): boolean;
}

interface Knowledge {
  version: string;
  whole: boolean;
  /** Parts that were shown, in order. Adjacent and overlapping parts are merged. */
  parts: readonly Part[];
}
type Part = readonly [first: number, last: number];

/** Maximum number of files per agent. If there are more, the oldest are forgotten and must be read again. */
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
    // Line numbers have changed, so the recorded parts are no longer valid.
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

/** Refuses to change a file whose current version the agent has not seen. */
export function refuseUnseen(
  file: { readonly real: string; readonly name: string; readonly version: string },
  known: SeenByAgent,
): ToolOutput | undefined {
  const seen = known.versionOf(file.real);
  if (seen === undefined) return failed(`You have not read ${file.name} yet. Read it first, then repeat this call.`);
  if (seen === file.version) return undefined;
  return failed(
    `${file.name} has changed since you read it. Read it again, then repeat this call with the current text.`,
  );
}
