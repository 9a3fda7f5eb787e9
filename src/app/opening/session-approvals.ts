import { plural } from "../../lib/index.ts";
import type { Inbox, WorkerSession } from "../../ports/index.ts";
import { createApprovalQueue, type LiveRules, type SessionApprovals } from "../../runs/index.ts";
import { openInbox, type Transcript, type Trouble } from "../../transcript/index.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/** Opens a session's inbox, with requests, answers and commands from other processes. */
export function openSessionInbox(
  { onTrouble }: SessionOptions,
  context: SessionContext,
  transcript: Transcript,
): Inbox {
  return openInbox({
    path: transcript.inboxPath,
    clock: context.clock,
    onTrouble: ({ message }: Trouble) => onTrouble?.(message),
    stopWaiting: context.stopWaiting.signal,
  });
}

/**
 * Makes a resumed session wait for answers if an earlier process left requests open and the options do not say how to
 * handle them. A request must not be denied only because no approver is configured.
 */
export function keepOpenRequests(options: SessionOptions, inbox: Inbox): SessionOptions {
  const { resume, approvals, onAsk, onTrouble } = options;
  const open = resume === undefined || approvals !== undefined || onAsk !== undefined ? 0 : inbox.open().length;
  if (open === 0) return options;
  onTrouble?.(leftOpen(open));
  return { ...options, onAsk: "wait" };
}

/** Creates a session's approval queue. A resumed session keeps the requests and answers from earlier processes. */
export function openApprovals(
  { approvals, onAsk, onTrouble, home }: SessionOptions,
  context: SessionContext,
  {
    inbox,
    worker,
    live,
  }: { readonly inbox: Inbox; readonly worker: WorkerSession; readonly live?: LiveRules | undefined },
): SessionApprovals {
  const keepAndReport = async (rule: string): Promise<void> => {
    const message = await worker.keepRule(rule);
    onTrouble?.(message);
  };
  return createApprovalQueue({
    attended: approvals !== undefined || onAsk === "wait",
    deniesBackground: context.settings.background?.approvals === "deny",
    program: approvals,
    report: onTrouble,
    keepRule: home === false ? undefined : keepAndReport,
    inbox,
    live,
  });
}

function leftOpen(count: number): string {
  const [are, them] = count === 1 ? ["is", "it"] : ["are", "them"];
  return `${plural(count, "request")} for approval ${are} still open from an earlier process, so this session waits for answers. To deny ${them} instead, pass the \`onAsk: deny\` option.`;
}
