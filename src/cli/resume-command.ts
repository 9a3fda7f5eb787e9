import { resumeOptions } from "./find-session.ts";
import type { HostSession, SessionHost } from "./host/session-host.ts";

interface Resumed {
  readonly host: SessionHost;
  readonly session: Pick<HostSession, "id" | "cwd">;
  /** Agent to resume. Defaults to the main agent. */
  readonly agentId?: string | undefined;
  /** Whether the agent has nothing to do without a prompt. */
  readonly needsPrompt?: boolean | undefined;
  /** Whether the resumed session should wait for answers to requests for approval, even if none is open now. */
  readonly isAsking?: boolean | undefined;
}

/**
 * Returns the command that resumes a session or one of its agents from the current directory. If requests for approval
 * are open, the command keeps them open.
 */
export async function resumeCommand(resumed: Resumed): Promise<string> {
  const { host, session, agentId, needsPrompt = false, isAsking = false } = resumed;
  const { id, cwd } = session;
  // A server opens the session with its own options.
  const waits = host.option === "" && (isAsking || (await host.approvals({ sessionId: id })).length > 0);
  const parts = [
    `retinue resume ${agentId === undefined ? id : `${id}/${agentId}`}`,
    needsPrompt ? ' "…"' : "",
    resumeOptions(cwd, host.option),
    waits ? " --on-ask wait" : "",
  ];
  return parts.join("");
}
