import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { messagesOf, type Reply, type ReplyFunction, type ToolPart } from "../../src/testing/index.ts";
import type { Place } from "./place.ts";

export type Random = () => number;

/** The calls in one of the model's answers, in order. */
type Step = readonly ToolPart[];

/** Text that every forbidden call contains. The flags below forbid these calls. */
export const FORBIDDEN = "forbidden";

/** Flags that allow all calls except those that are meant to be denied. */
export const workFlags = [
  "--permission-mode",
  "acceptEdits",
  "--allowed-tools",
  "Bash",
  "--disallowed-tools",
  "Bash(touch *)",
] as const;

/**
 * Returns a model that counts its answers with calls in the request to choose its next step. A process can therefore
 * continue where a killed one left off, and an answer that was cut off before its calls is repeated. Its calls are of
 * all kinds: effects, parallel reads, edits, denied calls, long outputs.
 */
export function planWork(place: Place, { random, steps }: { random: Random; steps: number }): ReplyFunction {
  for (const name of ["a", "b", "c"]) writeFileSync(join(place.cwd, `${name}.txt`), `${name}\n`.repeat(200));
  const plan = Array.from({ length: steps }, (_, index) => makeStep(place, index, random));
  return (request) => {
    const done = messagesOf(request).filter(({ toolCalls }) => toolCalls.length > 0).length;
    const step = plan[done];
    const reply: Reply = step ? { content: [`Step ${done + 1}.`, ...step] } : { content: "All done." };
    return { ...reply, pacing: { chunkCharacters: 40, chunkMs: random() < 0.2 ? 2 : 0 } };
  };
}

/** Makes every call different, because the runtime ends an agent that repeats itself. */
function makeStep(place: Place, index: number, random: Random): Step {
  const ledger = `echo "$RETINUE_CALL_ID" >> ledger.txt; : step ${index}`;
  // The first two steps make sure that every run has an effect and a denial.
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

/** Edits a different file in each step, so that a call that ran twice would fail the second time. */
function edit(place: Place, index: number): Step {
  const name = `edit-${index}`;
  writeFileSync(join(place.cwd, `${name}.txt`), "before\n");
  const change = { file_path: `${name}.txt`, old_string: "before", new_string: "after" };
  return [read(name, 1), { tool: "Edit", input: change }];
}
