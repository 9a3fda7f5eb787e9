import { withTimeLimit } from "../../lib/index.ts";
import { type DurableEvent, runtimeText } from "../../protocol/index.ts";
import { endedNotice } from "../subagents/subagent.ts";
import { noticeText } from "../subagents/task-text.ts";
import type { RunHost } from "./run-host.ts";

/**
 * Returns a line with notices about the background agents that have ended since the last line of notices. Returns an
 * empty list if no agent has ended.
 */
export async function endedInBackground({ services, thread }: RunHost): Promise<DurableEvent[]> {
  const { background } = thread.state;
  if (background.length === 0) return [];
  const ended = (await services.retinue?.registry.ended(background)) ?? [];
  if (ended.length === 0) return [];
  return [{ type: "notices.delivered", notices: ended.map(endedNotice), text: noticeText(ended) }];
}

/** Returns a line that tells a resumed agent which of its background agents are running and which have ended. */
export async function backgroundRoster({ services, thread }: RunHost): Promise<DurableEvent[]> {
  const { background } = thread.state;
  if (background.length === 0) return [];
  const roster = (await services.retinue?.registry.roster(thread.agentId, background)) ?? "";
  return roster === "" ? [] : [{ type: "context.added", cause: "resumed", text: runtimeText(roster) }];
}

/**
 * Waits until a background agent ends, a message arrives or something else ends the wait, and records which agents have
 * ended. Stops the background agents if the time limit is reached.
 */
export async function waitForBackground(host: RunHost): Promise<void> {
  const { services, thread, outlet } = host;
  const { retinue, clock, limits } = services;
  if (retinue === undefined) return;
  const resume = host.yield();
  const since = clock.monotonic();
  const { waitedMs = 0 } = host;
  const { background } = thread.state;
  const { waitMs = Number.POSITIVE_INFINITY } = limits;
  await withTimeLimit(outlet.signal, Math.max(0, waitMs - waitedMs), (signal) =>
    Promise.race([retinue.registry.oneEnded(background, signal), host.nextInterruption()]),
  );
  host.waitedMs = waitedMs + clock.monotonic() - since;
  if (host.waitedMs >= waitMs) await retinue.registry.cut(background);
  await resume(outlet.signal);
  if (!outlet.signal.aborted) await host.record(await endedInBackground(host));
}
