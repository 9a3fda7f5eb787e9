import type { Clock } from "../ports/index.ts";
import type { DurableEvent, Line } from "../protocol/index.ts";
import { type AgentLog, type Batch, prepareBatch, writeBatch } from "./agent-log.ts";
import type { OpenFiles } from "./open-files.ts";
import { asUserError, type Patience } from "./patience.ts";

export interface AppendOptions {
  readonly files: OpenFiles;
  readonly patience: Patience;
  readonly clock: Clock;
}

/** Writes at once; when the disk is full, waits, and later appends of this agent queue behind. */
export function appendLines(
  log: AgentLog,
  events: readonly DurableEvent[],
  { files, patience, clock }: AppendOptions,
): readonly Line[] | Promise<readonly Line[]> {
  if (events.length === 0) return [];
  let batch: Batch | undefined;
  if (log.tail === undefined) {
    try {
      batch = prepareBatch(log, events, clock.now());
      writeBatch(log, batch, files);
      return batch.lines;
    } catch (error) {
      if (!patience.isWorthWaiting(error)) return Promise.reject(asUserError(error));
    }
  }
  return inTurn(log, async () => {
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
