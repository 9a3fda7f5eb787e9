import type { Inbox, WorkerSession } from "../../ports/index.ts";
import { createApprovalQueue, type SessionApprovals } from "../../runs/index.ts";
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

/** Creates a session's approval queue. A resumed session keeps the requests and answers from earlier processes. */
export async function openApprovals(
  { approvals, onAsk, resume, onTrouble, home }: SessionOptions,
  context: SessionContext,
  { inbox, worker }: { readonly inbox: Inbox; readonly worker: WorkerSession },
): Promise<SessionApprovals> {
  const keepAndReport = async (rule: string): Promise<void> => {
    const message = await worker.keepRule(rule);
    onTrouble?.(message);
  };
  const queue = createApprovalQueue({
    attended: approvals !== undefined || onAsk === "wait",
    deniesBackground: context.settings.background?.approvals === "deny",
    program: approvals,
    keepRule: home === false ? undefined : keepAndReport,
    openInbox: async () => inbox,
  });
  if (resume !== undefined) await queue.load();
  return queue;
}
