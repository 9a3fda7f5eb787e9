import type { Clock } from "../ports/index.ts";
import { type DurableEvent, type Line, MAIN_AGENT } from "../protocol/index.ts";
import { type AgentLog, type Batch, prepareBatch, writeBatch } from "./agent-log.ts";
import type { OpenFiles } from "./open-files.ts";
import { asUserError, type Patience } from "./patience.ts";

export interface AppendOptions {
  readonly files: OpenFiles;
  readonly patience: Patience;
  readonly clock: Clock;
}

/** Writes at once; a subagent's file is made first, and when the disk is full it waits: later appends queue behind. */
export function appendLines(
  log: AgentLog,
  events: readonly DurableEvent[],
  { files, patience, clock }: AppendOptions,
): readonly Line[] | Promise<readonly Line[]> {
  if (events.length === 0) return [];
  const isToMake = log.isNew && log.end === undefined && log.agentId !== MAIN_AGENT;
  let batch: Batch | undefined;
  if (log.tail === undefined && !isToMake) {
    try {
      batch = prepareBatch(log, events, clock.now());
      writeBatch(log, batch, files);
      return batch.lines;
    } catch (error) {
      if (!patience.isWorthWaiting(error)) return Promise.reject(asUserError(error));
    }
  }
  return inTurn(log, async () => {
    if (isToMake) await files.make(log);
    const own = batch ?? prepareBatch(log, events, clock.now());
    await patience.until(() => writeBatch(log, own, files));
    return own.lines;
  });
}

function inTurn<T>(log: AgentLog, action: () => Promise<T>): Promise<T> {
  const result = (log.tail ?? Promise.resolve()).then(action);
  const settled = result.then(
    () => {},
    () => {},
  );
  log.tail = settled;
  void settled.then(() => {
    if (log.tail === settled) log.tail = undefined;
  });
  return result;
}
