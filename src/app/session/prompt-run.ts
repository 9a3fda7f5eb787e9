import type { JsonSchema, PromptId, RunId, RunResult, RunUpdate } from "../../protocol/index.ts";
import type { Run as PlainRun } from "../../runs/index.ts";
import { oneOf, optionError } from "../check-options.ts";
import type { Schema, SchemaValue } from "../schemas/schema.ts";
import type { StructuredOutput } from "../schemas/structured-output.ts";

/** Options for one prompt. */
export interface PromptOptions<Output extends Schema | undefined = undefined> {
  /** Stops the run, which then has the outcome `stopped`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Schema for the answer. The agent is asked for JSON, which is validated; it may correct an invalid answer twice. The
   * value is the result's `output`.
   */
  readonly output?: Output | undefined;
  /**
   * JSON Schema for the answer. Needed only if `output` comes from a library that can't convert its schemas to JSON
   * Schema.
   */
  readonly outputSchema?: JsonSchema | undefined;
}

/** Result of a prompt. It always resolves: `outcome` and `reason` say how the run ended. */
export interface PromptResult<Output = undefined> extends RunResult {
  /** The validated answer, if the prompt asked for one and the run succeeded. */
  readonly output?: Output | undefined;
}

/**
 * A run of the main agent: updates in order, and one result. Read either the updates or `textStream`, or neither.
 */
export interface Run<Output = undefined> extends AsyncIterable<RunUpdate> {
  readonly runId: RunId;
  /** Id of the prompt, as in `session.queue()` and in the `withdraw` command; undefined if the run has no prompt. */
  readonly promptId: PromptId | undefined;
  /** Never rejects. */
  readonly result: Promise<PromptResult<Output>>;
  /** Text of the main agent's messages as it is being written. Messages are separated by a blank line. */
  readonly textStream: AsyncIterable<string>;
  /**
   * Ends the run as soon as possible. The work done so far is kept. The cause becomes the result's `reason`:
   * `interrupted` if a person stops the run, `stopped` otherwise. Throws a `UserError` for any other cause.
   */
  stop(cause: "interrupted" | "stopped"): void;
}

/** Type of `output` in a prompt's result. */
export type OutputValue<Output> = Output extends Schema ? SchemaValue<Output> : undefined;

interface RunParts {
  readonly promptId?: PromptId | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly output?: StructuredOutput | undefined;
}

/** Adds the properties of a `Run`, such as `textStream`, to a plain run. */
export function createPromptRun<Output>(run: PlainRun, { promptId, signal, output }: RunParts): Run<Output> {
  const onAbort = (): void => run.stop("interrupted");
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  void run.result.then(() => signal?.removeEventListener("abort", onAbort));
  const withOutput = (end: RunResult): PromptResult<Output> =>
    end.reason === "done" ? { ...end, output: output?.value as Output } : end;
  let isRead = false;
  const read = (): PlainRun => {
    if (isRead)
      throw optionError(
        "A run's updates can be read only once, as events or as textStream",
        "Get the text from `text.delta` events, or use session.events(), which can have any number of readers.",
      );
    isRead = true;
    return run;
  };
  return {
    runId: run.runId,
    promptId,
    // Without an output schema, this is the run's own promise: if a program closes the session when it resolves, no
    // queued run has started yet.
    result: output === undefined ? run.result : run.result.then(withOutput),
    stop: (cause) => {
      if (!causes.accepts(cause))
        throw optionError(
          `A run can't be stopped with the cause ${JSON.stringify(cause)}`,
          `Use ${causes.description}.`,
        );
      run.stop(cause);
    },
    [Symbol.asyncIterator]: () => read()[Symbol.asyncIterator](),
    get textStream() {
      return textsOf(read);
    },
  };
}

const causes = oneOf(["interrupted", "stopped"]);

async function* textsOf(read: () => PlainRun): AsyncGenerator<string> {
  let hasText = false;
  let isBetween = false;
  for await (const update of read()) {
    if (update.type === "model.ended") isBetween = hasText;
    if (update.type !== "text.delta") continue;
    if (isBetween) yield "\n\n";
    yield update.text;
    hasText = true;
    isBetween = false;
  }
}
