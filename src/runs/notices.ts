import type { DurableEvent } from "../protocol/index.ts";
import type { RunHost } from "./run-host.ts";
import { noticeText } from "./task-text.ts";

/** Tells what ended in the background since it was last told; nothing when nothing did. */
export async function endedInBackground({ services, thread }: RunHost): Promise<DurableEvent[]> {
  const { background } = thread.state;
  if (background.length === 0) return [];
  const ended = (await services.retinue?.ended(background)) ?? [];
  if (ended.length === 0) return [];
  const notices = ended.map(({ agentId, end: { runId, outcome } }) => ({ agentId, runId, outcome }));
  return [{ type: "notices.delivered", notices, text: noticeText(ended) }];
}

/** Who goes on while it has agents in the background is told again which of them work and which have ended. */
export async function backgroundRoster({ services, thread }: RunHost): Promise<DurableEvent[]> {
  const { background } = thread.state;
  if (background.length === 0) return [];
  const roster = (await services.retinue?.roster(thread.agentId, background)) ?? "";
  return roster === "" ? [] : [{ type: "context.added", cause: "resumed", text: `[${roster}]` }];
}

/** Until one of its agents in the background has ended, and that is told; or the run is stopped. */
export async function waitForBackground(host: RunHost): Promise<void> {
  const { services, thread, clocks, outlet } = host;
  const goOn = clocks.pause();
  await services.retinue?.oneEnded(thread.state.background, outlet.signal);
  goOn();
  if (!outlet.signal.aborted) await host.record(await endedInBackground(host));
}
