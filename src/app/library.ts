import type { UserBlock } from "../protocol/index.ts";
import type { SessionOptions } from "./opening/session-options.ts";
import type { CompletedRun, RunOptions } from "./run.ts";
import type { Schema } from "./schemas/schema.ts";
import type { OutputValue } from "./session/prompt-run.ts";
import type { Session } from "./session/session.ts";

// Sessions need most of the code, which is loaded with the first session, so that the library is quick to import.

/**
 * Opens a new session, or resumes one. Throws a `UserError` for problems that the user must fix.
 *
 * ```ts
 * const session = await openSession({ permissionMode: "acceptEdits", settings: { budget: { usd: 1 } } });
 * const { outcome, text } = await session.prompt("Fix the failing test.").result;
 * await session.close();
 * ```
 */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const { openSession: open } = await import("./opening/open-session.ts");
  return open(options);
}

/**
 * Runs one prompt in a new session, or in the one that `resume` names, and closes the session. Rejects with a
 * `UserError` if the session can't be opened, for example because of an invalid option; otherwise resolves, and
 * `outcome` says how the run ended.
 *
 * ```ts
 * const { outcome, text } = await run("Which files define routes?");
 * ```
 */
export async function run<const Output extends Schema | undefined = undefined>(
  prompt: string | readonly UserBlock[],
  given: RunOptions<Output> = {},
): Promise<CompletedRun<OutputValue<Output>>> {
  const { run: start } = await import("./run.ts");
  return start(prompt, given);
}
