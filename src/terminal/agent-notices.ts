import {
  type AgentView,
  activityWords,
  agentOf,
  type SessionView,
  type ViewUpdate,
  wishWords,
} from "../client/index.ts";
import { type CallId, type EventOf, MAIN_AGENT } from "../protocol/index.ts";
import type { App } from "./app.ts";
import { answerRows } from "./conversation/call-rows.ts";
import { textColumns } from "./conversation/item-rows.ts";
import { labelOf } from "./parts/agents-panel.ts";
import { type Style, span } from "./screen/row.ts";
import { cleanLine, wrap } from "./screen/text.ts";

/** Prints what the user should know about subagents. */
export interface AgentNotices {
  /**
   * Prints the answer to an agent's request, and the end of its work in the background. Events from before the session
   * was opened here are not printed. `before`: the view before the update.
   */
  notice(update: ViewUpdate, before: SessionView): void;
  /** Prints now how many more agents have ended. Called before the terminal is closed. */
  finish(): void;
}

type Ended = Pick<AgentView, "path"> & { readonly words: string; readonly event: EventOf<"run.ended"> };

/** Number of agents whose ends are announced one by one within `WINDOW_MS`. The others are only counted. */
const MAX_ENDS = 3;
const WINDOW_MS = 2_000;

export function createAgentNotices(app: App, isBusy: () => boolean): AgentNotices {
  let said = 0;
  let others: readonly Ended[] = [];
  /** Whether a call to `sayOthers` is scheduled. */
  let isPlanned = false;

  function end(ended: Ended): void {
    if (!isPlanned) setTimeout(sayOthers, WINDOW_MS).unref();
    isPlanned = true;
    said += 1;
    if (said <= MAX_ENDS) sayEnd(ended);
    else others = [...others, ended];
  }

  /** Says how many more agents have ended. If several have, more are likely to follow soon. */
  function sayOthers(): void {
    const [first, ...more] = others;
    isPlanned = more.length > 0;
    if (isPlanned) setTimeout(sayOthers, WINDOW_MS).unref();
    said = isPlanned ? MAX_ENDS : 0;
    if (first !== undefined && more.length === 0) sayEnd(first);
    else if (first !== undefined) app.say(`${countEnds(others)}. ${callersOf(others)}`);
    others = [];
  }

  function sayEnd({ words, path, event: { outcome } }: Ended): void {
    const style: Style = outcome === "succeeded" ? "good" : outcome === "failed" ? "bad" : "warn";
    const caller = path.length > 1 ? "its caller gets its report" : `the main agent gets its report ${when()}`;
    app.say(`${words}; ${caller}.`, style);
  }

  function callersOf(ended: readonly Ended[]): string {
    const isMain = ended.every(({ path }) => path.length === 1);
    return isMain ? `The main agent gets their reports ${when()}.` : "Their callers get their reports.";
  }

  /** Says when the main agent gets reports. */
  function when(): string {
    return isBusy() ? "with its next step" : "with your next prompt";
  }

  return {
    notice: ({ agentId, event }, before) => {
      const agent = agentOf(app.view, agentId);
      if (agent === undefined || agentId === MAIN_AGENT || !("at" in event) || event.at < before.connectedAt) return;
      if (event.type === "approval.answered" && isNew(event, agentOf(before, agentId)))
        noticeAnswer(app, agent, event.callId);
      if (event.type === "run.ended" && agentOf(before, agentId)?.background === true)
        end({ path: agent.path, words: `${labelOf(agent)} ${activityWords(agent)}`, event });
    },
    finish: sayOthers,
  };
}

/** Summarizes several ends: `12 more agents have ended: 11 succeeded, 1 failed`. */
function countEnds(ended: readonly Ended[]): string {
  const counts = new Map<string, number>();
  for (const { event } of ended) counts.set(event.outcome, (counts.get(event.outcome) ?? 0) + 1);
  const parts = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  return `${ended.length} more agents have ended: ${parts}`;
}

/**
 * Returns whether the user should be told about an answer. After an "always" answer, the rule answers the other requests
 * that it allows. An edited call is a request of its own, which the same answer allows.
 */
function isNew({ by, answer, always, inputJson, callId }: EventOf<"approval.answered">, before?: AgentView): boolean {
  if (by.startsWith("the rule ")) return false;
  const isEdited = before?.calls.find((call) => call.callId === callId)?.targetBefore !== undefined;
  return !(isEdited && answer === "allow" && always === undefined && inputJson === undefined);
}

/** Prints a subagent's request and the answer. */
function noticeAnswer({ columns, user, isPlain, print }: App, agent: AgentView, callId: CallId): void {
  const call = agent.calls.find((each) => each.callId === callId);
  const width = textColumns(columns);
  const answer = call === undefined ? [] : answerRows(call, { columns: width, user, isPlain });
  if (call === undefined || answer.length === 0) return;
  const mark = call.approval?.answer?.answer === "allow" ? span("  ✓ ", "good") : span("  – ", "warn");
  const asked = span(cleanLine(`${labelOf(agent)} ${wishWords(call, agent.cwd)}`));
  print([[], ...wrap([asked], { columns: width, first: isPlain ? [] : [mark] }), ...answer]);
}
