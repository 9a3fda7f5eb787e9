import { describeError, withTimeLimit } from "../lib/index.ts";
import type { HookAnswer } from "../protocol/index.ts";
import { type FunctionHook, type Hook, type HookInput, nameOf } from "./hook.ts";
import { failed, readAnswer } from "./read-answer.ts";
import { type CommandPlace, isTimeout, runCommand } from "./run-command.ts";

const USUAL_SECONDS = 60;
const LONGEST_SECONDS = 3_600;

/** Asks one hook within its time limit. Never rejects. */
export function runHook(hook: Hook, input: HookInput, place: CommandPlace): Promise<HookAnswer> {
  const seconds = Math.min(hook.timeoutSeconds ?? USUAL_SECONDS, LONGEST_SECONDS);
  return withTimeLimit(place.signal, seconds * 1_000, async (signal) => {
    if (hook.kind === "function") return callFunction(hook, input, signal);
    const run = await runCommand(hook, `${JSON.stringify(input)}\n`, { ...place, signal });
    return place.signal.aborted ? brokenOff(hook) : readAnswer(hook.event, run, nameOf(hook));
  });
}

/** Whoever breaks off a run knows it; that its hooks did not end either is no news. */
function brokenOff({ event }: Hook): HookAnswer {
  return event === "PreToolUse" ? { decision: "deny", reason: "The run was broken off." } : {};
}

async function callFunction(hook: FunctionHook, input: HookInput, signal: AbortSignal): Promise<HookAnswer> {
  const { event, run } = hook;
  const name = nameOf(hook).replace("a ", "A ");
  const call = run as (
    input: HookInput,
    signal: AbortSignal,
  ) => HookAnswer | undefined | Promise<HookAnswer | undefined>;
  try {
    return (await Promise.race([call(input, signal), broken(signal)])) ?? {};
  } catch (error) {
    if (signal.aborted && !isTimeout(signal.reason)) return brokenOff(hook);
    if (isTimeout(signal.reason)) return failed(event, `${name} did not answer within its time limit.`);
    return failed(event, `${name} failed: ${describeError(error)}`);
  }
}

/** A function need not heed the signal. */
function broken(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
