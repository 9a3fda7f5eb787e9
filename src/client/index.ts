// Owns: the view of a session that every interface shows, the words for states and activities, and the HTTP client.
// Does not own: how a view is drawn (terminal, web, cli), or the server itself. Needs nothing from Node, because it also
// runs in browsers. Called by: cli, terminal, web, server, and programs that use a server (exported as retinue/client).
export { ClientError } from "./http/client-error.ts";
export type { ClientOptions, ConnectionState, Reconnect } from "./http/connection.ts";
export {
  type AgentCatalog,
  type AgentFiles,
  type Client,
  type ClientSession,
  createClient,
  type EventOptions,
  type LineOptions,
  type NewAnswer,
  type NewCommand,
  type PromptOptions,
  type WatchOptions,
} from "./http/create-client.ts";
export {
  closeAgent,
  foldSession,
  openAgent,
  reconnected,
  sessionClosed,
  type ViewUpdate,
} from "./view/fold-session.ts";
export { foldSpans, noSpans, type Span, type SpanLane, type Spans, spansClosed } from "./view/fold-spans.ts";
export { foldUsage, noSessionUsage, type SessionUsage, type UsedTurns } from "./view/fold-usage.ts";
export {
  type FoldedSession,
  foldAll,
  newFoldedSession,
  PartReader,
  partsOf,
  type ViewPart,
  type ViewProgress,
} from "./view/folded-session.ts";
export type { CallApproval, CallItem, CallResult, Item } from "./view/items.ts";
export { unverifiedIn } from "./view/items-in.ts";
export { at, elements, type List } from "./view/persistent.ts";
export {
  type AgentState,
  type AgentTotals,
  type AgentView,
  agentOf,
  type Delay,
  type Draft,
  type DraftPart,
  inTreeOrder,
  isWaiting,
  newSessionView,
  type PendingApproval,
  parentOf,
  type QueuedPrompt,
  type SessionTotals,
  type SessionView,
  type Step,
  stateOf,
  tokensOf,
  totalsOf,
  type ViewOptions,
} from "./view/session-view.ts";
export { type AnsweredCall, answerWords, type RepliedQuestion, repliesTo, workedMs } from "./words/answer-words.ts";
export {
  type ApprovalText,
  approvalText,
  breakLines,
  cutForMessage,
  describeRequest,
  type RequestText,
  type ShownRequest,
  showRule,
} from "./words/approval-text.ts";
export { announcementOf, describeCall, oneLine } from "./words/describe-call.ts";
export {
  firstSentence,
  isInBackground,
  outputLines,
  resultText,
  resultWords,
  todosOf,
  withoutTags,
} from "./words/result-words.ts";
export {
  activityWords,
  callWords,
  changeWords,
  delayWords,
  endWords,
  lastLineOf,
  outcomeMarks,
  retryWords,
  stateNames,
  stateWords,
  wishWords,
  withoutIds,
} from "./words/words.ts";
