import type { UserBlock } from "../protocol/index.ts";
import { checkNames, checkOptions, optionError } from "./check-options.ts";
import { sessionOptionTypes } from "./opening/check-session-options.ts";
import { openSession } from "./opening/open-session.ts";
import { sessionOptionHints } from "./opening/session-option-hints.ts";
import type { SessionOptions } from "./opening/session-options.ts";
import type { Schema } from "./schemas/schema.ts";
import { createStructuredOutput } from "./schemas/structured-output.ts";
import type { OutputValue, PromptOptions, PromptResult } from "./session/prompt-run.ts";
import { promptOptionTypes } from "./session/session.ts";
import type { SessionSpending } from "./session/session-spending.ts";

/** Options for `run`: the session's options, and a schema for the answer. `signal` also stops the run. */
export type RunOptions<Output extends Schema | undefined = undefined> = SessionOptions & PromptOptions<Output>;

/** Result of `run`: its outcome, text, output, usage, cost, facts and session id. */
export interface CompletedRun<Output = undefined> extends PromptResult<Output> {
  /** Total spending of all agents. `costUsd` and `usage` cover only the main agent. */
  readonly spent: SessionSpending;
  /** Messages for the user, for example that the offline model was used. */
  readonly notices: readonly string[];
}

/** Implements `run` in library.ts. */
export async function run<const Output extends Schema | undefined = undefined>(
  prompt: string | readonly UserBlock[],
  given: RunOptions<Output> = {},
): Promise<CompletedRun<OutputValue<Output>>> {
  if (typeof prompt !== "string" && !Array.isArray(prompt))
    throw optionError("run needs a prompt, as text or an array of blocks", "Call run(prompt, options).");
  const { output: _, ...hints } = sessionOptionHints;
  checkNames("run", given, hints);
  checkOptions("run", given, { ...sessionOptionTypes, ...promptOptionTypes });
  const { output, outputSchema, ...options } = given;
  // `prompt` checks this too, but only after the session has been opened.
  if (output !== undefined) createStructuredOutput(output, outputSchema);
  const session = await openSession(options);
  try {
    const result = await session.prompt(prompt, { output, outputSchema, signal: options.signal }).result;
    return { ...result, spent: await session.spent(), notices: session.notices };
  } finally {
    await session.close();
  }
}
