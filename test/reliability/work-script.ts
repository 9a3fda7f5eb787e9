import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { messagesOf, type Reply, type ReplyFunction, type ToolPart } from "../../src/testing/index.ts";
import type { Place } from "./place.ts";

export type Random = () => number;

/** One answer of the model: these calls, in this order. */
type Step = readonly ToolPart[];

/** In every call that the flags below forbid. */
export const FORBIDDEN = "forbidden";

/** With these, everything in the work is allowed except what is meant to be denied. */
export const workFlags = [
  "--permission-mode",
  "acceptEdits",
  "--allowed-tools",
  "Bash",
  "--disallowed-tools",
  "Bash(touch *)",
] as const;

/**
 * A model that goes through the steps by the number of its own answers in the request: where a killed process left off,
 * the next one goes on. Calls of every kind: effects, parallel reads, edits, denied ones, long outputs.
 */
export function planWork(place: Place, { random, steps }: { random: Random; steps: number }): ReplyFunction {
  for (const name of ["a", "b", "c"]) writeFileSync(join(place.cwd, `${name}.txt`), `${name}\n`.repeat(200));
  const plan = Array.from({ length: steps }, (_, index) => makeStep(place, index, random));
  return (request) => {
    const done = messagesOf(request).filter((message) => message.role === "assistant").length;
    const step = plan[done];
    const reply: Reply = step ? { content: [`Step ${done + 1}.`, ...step] } : { content: "All done." };
    return { ...reply, pacing: { chunkCharacters: 40, chunkMs: random() < 0.2 ? 2 : 0 } };
  };
}

/** No two calls are the same: the runtime ends an agent that repeats itself. */
function makeStep(place: Place, index: number, random: Random): Step {
  const ledger = `echo "$RETINUE_CALL_ID" >> ledger.txt; : step ${index}`;
  // The first two make sure that every run has an effect and a denial.
  if (index === 0) return [bash(ledger)];
  if (index === 1) return [bash(`touch ${FORBIDDEN}`), bash(ledger)];
  const kinds: readonly (() => Step)[] = [
    () => [bash(ledger)],
    () => [bash(`${ledger}; sleep 0.1`), bash(ledger)],
    () => [bash(`sleep 0.05; ${ledger}`)],
    () => [read("a", index), read("b", index), read("c", index), { tool: "LS", input: { path: "." } }],
    () => edit(place, index),
    () => [{ tool: "Write", input: { file_path: `new-${index}.txt`, content: `step ${index}\n` } }, bash(ledger)],
    () => [bash(`touch ${FORBIDDEN}-${index}`)],
    () => [{ tool: "WebFetch", input: { url: `http://127.0.0.1:9/${FORBIDDEN}/${index}`, prompt: "What is there?" } }],
    () => [bash(`${ledger}; seq 1 ${20_000 + index}`)],
    () => [{ tool: "NoSuchTool", input: { index } }, read("a", index), bash(`exit ${index}`)],
  ];
  return kinds[Math.floor(random() * kinds.length)]?.() ?? [];
}

function bash(command: string): ToolPart {
  return { tool: "Bash", input: { command } };
}

function read(name: string, offset: number): ToolPart {
  return { tool: "Read", input: { file_path: `${name}.txt`, offset } };
}

/** A file of its own for each step: a call that ran twice would fail the second time. */
function edit(place: Place, index: number): Step {
  const name = `edit-${index}`;
  writeFileSync(join(place.cwd, `${name}.txt`), "before\n");
  const change = { file_path: `${name}.txt`, old_string: "before", new_string: "after" };
  return [read(name, 1), { tool: "Edit", input: change }];
}
