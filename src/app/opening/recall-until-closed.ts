import { createDeferred, UserError } from "../../lib/index.ts";
import type { ToolExecutor } from "../../ports/index.ts";
import type { SessionContext } from "./session-context.ts";

/**
 * Returns a function that looks up a call's result, and waits for a call that is still running. It rejects when the
 * session is closed, so that the call stays open for the next process. Returns undefined if the executor can't look up
 * results.
 */
export function recallUntilClosed(
  { recall }: Pick<ToolExecutor, "recall">,
  { stopWaiting: { signal } }: Pick<SessionContext, "stopWaiting">,
): ToolExecutor["recall"] {
  if (recall === undefined) return undefined;
  return async (call) => {
    const closed = createDeferred<never>();
    const onClose = (): void => closed.reject(interrupted());
    signal.addEventListener("abort", onClose);
    if (signal.aborted) onClose();
    try {
      return await Promise.race([recall(call), closed.promise]);
    } finally {
      signal.removeEventListener("abort", onClose);
    }
  };
}

function interrupted(): UserError {
  return new UserError("The session was closed while it waited for a call that an earlier process had started", {
    code: "interrupted",
    fix: "Resume it to continue.",
    exitCode: 130,
  });
}
