import { setFlagsFromString } from "node:v8";

/** How much code must run before V8 thinks of compiling it better; its own figure is 67,584. */
const BUDGET = 5_000_000;

let isSpared = false;

/**
 * A hundred agents run the whole program a few hundred times: often enough for V8 to compile all of it anew, too seldom
 * for that to pay. Left alone that takes a quarter of the processor time (docs/decisions/0011). What runs much is
 * compiled still, only later. Newer versions of V8 have a cheaper compiler in between, and need no help.
 */
export function spareOptimizer(): void {
  if (isSpared || !process.versions.v8.startsWith("11.")) return;
  isSpared = true;
  setFlagsFromString(`--interrupt-budget=${BUDGET}`);
}
