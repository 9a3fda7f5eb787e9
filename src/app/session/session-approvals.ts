import { existsSync } from "node:fs";
import { createApprovalQueue, type SessionApprovals } from "../../runs/index.ts";
import { openInbox } from "../../transcript/index.ts";
import type { TrustPlace } from "../commands/trust.ts";
import { stateDirectory } from "../places.ts";
import type { OpenedSession } from "./opened-session.ts";
import type { SessionHooks } from "./session-hooks.ts";
import type { SessionOptions } from "./session-options.ts";

/** Who is asked in a session, with what was asked and answered in it before. */
export async function sessionApprovals(
  { approvals, onAsk, resume, onTrouble, home }: SessionOptions,
  { transcript, clock, cwd, environment, settings }: OpenedSession,
): Promise<SessionApprovals> {
  const { inboxPath: path } = transcript;
  const tell = onTrouble && (({ message }: { readonly message: string }) => onTrouble(message));
  const desk = createApprovalQueue({
    attended: approvals !== undefined || onAsk === "wait",
    deniesBackground: settings.background?.approvals === "deny",
    program: approvals,
    ...(home === false
      ? {}
      : { keepRule: keeping({ home: home ?? stateDirectory(environment), cwd, environment }, onTrouble) }),
    openInbox: async () => openInbox({ path, clock, onTrouble: tell }),
  });
  if (resume !== undefined && path !== undefined && existsSync(path)) await desk.load();
  return desk;
}

/** Who wants hooks to decide and has none would wonder why everything is denied. */
export function missedAnswers({ onAsk }: SessionOptions, { main }: Pick<SessionHooks, "main">): readonly string[] {
  if (onAsk !== "hook" || main?.has("PermissionRequest")) return [];
  return ["There is no PermissionRequest hook, so what would have to be asked is denied."];
}

function keeping(place: TrustPlace, tell: SessionOptions["onTrouble"]): (rule: string) => Promise<void> {
  return async (rule) => {
    const { keepRule } = await import("../settings/keep-rule.ts");
    tell?.(await keepRule(rule, place));
  };
}
