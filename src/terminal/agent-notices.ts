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

interface NoticeOptions {
  /** The view before the update. */
  readonly before: SessionView;
  /** Whether the main agent is working. */
  readonly isBusy: boolean;
}

/**
 * Prints what the user should know about a subagent: the answer to its request, and the end of its work in the
 * background. Events from before the session was opened here are not printed.
 */
export function noticeAgent(app: App, { agentId, event }: ViewUpdate, { before, isBusy }: NoticeOptions): void {
  const agent = agentOf(app.view, agentId);
  if (agent === undefined || agentId === MAIN_AGENT || !("at" in event) || event.at < before.connectedAt) return;
  // After an "always" answer, the rule answers the other requests that it allows.
  const isAnswer = event.type === "approval.answered" && !event.by.startsWith("the rule ");
  if (isAnswer) noticeAnswer(app, agent, event.callId);
  const isEnd = event.type === "run.ended" && agentOf(before, agentId)?.background === true;
  if (isEnd) noticeEnd(app, agent, { event, isBusy });
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

interface EndOptions {
  readonly event: EventOf<"run.ended">;
  readonly isBusy: boolean;
}

/** Prints a line when a background agent has ended. Its caller learns about it later. */
function noticeEnd(app: App, agent: AgentView, { event, isBusy }: EndOptions): void {
  const style: Style = event.outcome === "succeeded" ? "good" : event.outcome === "failed" ? "bad" : "warn";
  const when = agent.path.length > 1 ? "" : isBusy ? " with its next step" : " with your next prompt";
  const caller = agent.path.length > 1 ? "its caller" : "the main agent";
  app.say(`${labelOf(agent)} ${activityWords(agent)}; ${caller} gets its report${when}.`, style);
}
