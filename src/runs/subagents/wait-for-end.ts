import type { LiveAgent } from "../host/run-host.ts";
import type { Caller, Delegated } from "./delegation.ts";
import type { Member } from "./member.ts";

interface Waiting {
  readonly parent: LiveAgent;
  readonly caller: Caller;
}

/** Until it has ended, or nobody shall wait for it. */
export async function waitForEnd(member: Member, { parent, caller: { signal } }: Waiting): Promise<Delegated> {
  const { running, record } = member;
  if (running === undefined) throw new Error(`agent ${record.agentId} does not run`);
  const entered = record.fork === undefined ? {} : { entered: true as const };
  if (!running.background) {
    const onAbort = () => running.run.stop("interrupted");
    const goOn = parent.yield();
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const ended = await Promise.race([running.done, running.detached.promise]);
    signal.removeEventListener("abort", onAbort);
    await goOn(signal);
    if (ended) return { status: "ended", run: ended, ...entered };
  }
  const { agentId, runId } = member.record;
  const { path } = running.output;
  const where = path === undefined ? {} : { outputFile: path };
  return { status: "launched", notice: { agentId, runId }, ...where, ...entered };
}

/** Undefined when the signal fires first. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
