import { maskAddresses } from "../lib/index.ts";
import type { Effect, HookAnswer, HookCommon, HookEntry, HookEvent, HookFacts, HookSource } from "../protocol/index.ts";

/** Input of a hook. Hook commands receive it as JSON. `tool` has the same value as `tool_name`. */
export type HookInput<Event extends HookEvent = HookEvent> = Event extends HookEvent
  ? HookCommon & HookFacts[Event] & { readonly hook_event_name: Event }
  : never;

/** Answer from a hook function. `block` means `deny`, as in the output of a hook command. */
export interface HookFunctionAnswer extends Omit<HookAnswer, "decision"> {
  /**
   * For a call: whether it may run. For Stop: `block` keeps the agent running. For UserPromptSubmit: `block` rejects the
   * prompt. For PostToolUse: with `block`, the reason is shown to the model. Ignored for other events.
   */
  readonly decision?: Effect | "block" | undefined;
}

/** A hook defined by the program that opened the session. A hook that throws is treated as failed. */
export type HookFunction<Event extends HookEvent = HookEvent> = (
  input: HookInput<Event>,
  signal: AbortSignal,
) => HookFunctionResult | Promise<HookFunctionResult>;

/** Result of a hook function. `void` lets a function without a return value be a hook. */
// biome-ignore lint/suspicious/noConfusingVoidType: only `void` accepts functions that are declared to return nothing
type HookFunctionResult = HookFunctionAnswer | undefined | void;

export interface CommandHook extends HookEntry {
  readonly kind: "command";
  readonly source: HookSource;
  /** Directory of the plugin that the hook belongs to. */
  readonly pluginRoot?: string | undefined;
}

export interface FunctionHook {
  readonly kind: "function";
  readonly event: HookEvent;
  readonly matcher?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly source: HookSource;
  readonly run: HookFunction<never>;
}

export type Hook = CommandHook | FunctionHook;

/** Returns a hook's name for use in messages. */
export function nameOf(hook: Hook): string {
  if (hook.kind === "function") return `a ${hook.event} hook defined by the program`;
  const words = [hook.command, ...(hook.args ?? [])].join(" ").replaceAll(/\s+/g, " ").trim();
  const line = maskAddresses(words);
  return `the ${hook.event} hook "${line.length > 80 ? `${line.slice(0, 79)}…` : line}"`;
}
