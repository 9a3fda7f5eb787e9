import { existsSync } from "node:fs";
import { createApprovalDesk, type SessionDesk } from "../runs/index.ts";
import { openInbox } from "../transcript/index.ts";
import type { OpenedSession } from "./opened-session.ts";
import type { SessionOptions } from "./session-options.ts";

/** Who is asked in a session, with what was asked and answered in it before. */
export async function sessionApprovals(
  { approvals, onAsk, resume, onTrouble }: SessionOptions,
  { transcript, clock }: OpenedSession,
): Promise<SessionDesk> {
  const { inboxPath: path } = transcript;
  const tell = onTrouble && (({ message }: { readonly message: string }) => onTrouble(message));
  const desk = createApprovalDesk({
    attended: approvals !== undefined || onAsk === "wait",
    ...(approvals === undefined ? {} : { program: approvals }),
    openInbox: () => openInbox({ path, clock, onTrouble: tell }),
  });
  if (resume !== undefined && path !== undefined && existsSync(path)) await desk.load();
  return desk;
}
