import { existsSync } from "node:fs";
import type { WorkerSession } from "../../ports/index.ts";
import { createApprovalQueue, type SessionApprovals } from "../../runs/index.ts";
import { openInbox, type Transcript, type Trouble } from "../../transcript/index.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/** Creates the approval queue of a session. A resumed session keeps the requests and answers of earlier processes. */
export async function openApprovals(
  { approvals, onAsk, resume, onTrouble, home }: SessionOptions,
  context: SessionContext,
  { transcript, worker }: { readonly transcript: Transcript; readonly worker: WorkerSession },
): Promise<SessionApprovals> {
  const { inboxPath: path } = transcript;
  const keepAndReport = async (rule: string): Promise<void> => {
    const message = await worker.keepRule(rule);
    onTrouble?.(message);
  };
  const queue = createApprovalQueue({
    attended: approvals !== undefined || onAsk === "wait",
    deniesBackground: context.settings.background?.approvals === "deny",
    program: approvals,
    keepRule: home === false ? undefined : keepAndReport,
    openInbox: async () =>
      openInbox({
        path,
        clock: context.clock,
        onTrouble: ({ message }: Trouble) => onTrouble?.(message),
        stopWaiting: context.stopWaiting.signal,
      }),
  });
  if (resume !== undefined && path !== undefined && existsSync(path)) await queue.load();
  return queue;
}
