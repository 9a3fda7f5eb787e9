import type { AcceptanceResult, Changes, DurableEvent, EventOf, RunRef, ToolResult } from "../protocol/index.ts";

/** Changes that have not passed verification, in runs whose work must be verified. */
export interface Unverified extends Changes {
  /** Whether changes in the newest run must be verified. */
  readonly verifies: boolean;
  /** Whether something has changed since the last verdict, so that a verification is owed. */
  readonly isDue: boolean;
  /** Last verdict, if nothing has changed since and no run has ended with it. */
  readonly verdict?: AcceptanceResult | undefined;
}

export const nothingUnverified: Unverified = { verifies: false, files: [], commands: [], isDue: false };

interface Verified {
  readonly unverified: Unverified;
  /** Background runs whose ends have not been reported to the agent. */
  readonly background: readonly RunRef[];
}

/**
 * Returns the unverified changes after an event. `state` is the state before the event. Must be called for every line,
 * including those of runs that have ended, so that neither a crash nor an interruption hides a change.
 */
export function foldUnverified({ unverified, background }: Verified, event: DurableEvent): Unverified {
  switch (event.type) {
    case "run.started":
      return unverified.verifies === (event.verifies ?? false)
        ? unverified
        : { ...unverified, verifies: event.verifies ?? false };
    case "tool.ended":
      return changesOfCall(event, background).reduce(withUnverified, unverified);
    case "notices.delivered":
      return event.notices.flatMap(({ changes }) => changes ?? []).reduce(withUnverified, unverified);
    case "acceptance.checked": {
      const { type: _, runId: _runId, stillDue = false, ...result } = event;
      if (result.verdict === undefined) return unverified;
      const left = result.verdict === "pass" ? { files: [], commands: [] } : {};
      return { ...unverified, ...left, isDue: stillDue, verdict: result };
    }
    case "run.ended":
      return event.acceptance?.verdict === undefined || unverified.verdict === undefined
        ? unverified
        : { ...unverified, verdict: undefined };
    default:
      return unverified;
  }
}

/** Returns what a call changed. The end of a background agent counts only once, no matter how often it is read. */
function changesOfCall({ name, result }: EventOf<"tool.ended">, background: readonly RunRef[]): readonly Changes[] {
  const { agent, reported } = result.facts ?? {};
  const isNew = background.some(({ runId }) => runId === reported?.runId);
  const reports = [agent?.changes, isNew ? reported?.changes : undefined].filter((each) => each !== undefined);
  return [ownChanges(name, result), ...reports];
}

function ownChanges(tool: string, { facts = {} }: ToolResult): Changes {
  const { filesChanged = [], mayHaveChanged = [], command } = facts;
  const unfinished = mayHaveChanged.map((path) => `${tool} ${path} (not finished)`);
  return {
    files: filesChanged,
    commands: command && !command.readsOnly ? [command.command, ...unfinished] : unfinished,
  };
}

/** Adds changes that have not been verified. */
export function withUnverified(before: Unverified, { files, commands }: Changes): Unverified {
  if (!before.verifies || files.length + commands.length === 0) return before;
  return {
    verifies: true,
    files: [...new Set([...before.files, ...files])],
    commands: [...new Set([...before.commands, ...commands])],
    isDue: true,
  };
}
