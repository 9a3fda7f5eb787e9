import { type Ending, turnsLeft } from "../../loop/index.ts";
import { runtimeText } from "../../protocol/index.ts";
import type { OutputCheck } from "../host/output-check.ts";
import type { RunHost } from "../host/run-host.ts";

/** Number of times that an agent may correct an answer that does not match the schema. */
const MOST_CORRECTIONS = 2;

export type CheckedOutput =
  | { readonly kind: "valid" }
  /** The agent was asked to correct its answer. */
  | { readonly kind: "again" }
  | { readonly kind: "invalid"; readonly ending: Ending };

/** Checks whether the final answer of a run matches the requested schema. */
export async function checkOutput(host: RunHost, output: OutputCheck): Promise<CheckedOutput> {
  const { run } = host.thread.state;
  const problem = await output.problemIn(run?.text ?? "");
  if (problem === undefined) return { kind: "valid" };
  const { corrections = 0 } = host;
  if (run === undefined || turnsLeft(run) === 0 || corrections >= MOST_CORRECTIONS) {
    const message = `The answer does not match its schema: ${problem} The answer itself is in the text of the result.`;
    return { kind: "invalid", ending: { reason: "invalid_output", message } };
  }
  host.corrections = corrections + 1;
  const text = runtimeText(`Your answer can't be used: ${problem} Answer again. ${output.instruction}`);
  await host.record([{ type: "context.added", cause: "output", text }]);
  return { kind: "again" };
}
