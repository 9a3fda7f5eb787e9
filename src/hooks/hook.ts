import type { HookAnswer, HookCommon, HookEntry, HookEvent, HookFacts, HookSource } from "../protocol/index.ts";

/** What a command reads as JSON and a function is given. `tool` says the same as `tool_name`. */
export type HookInput<Event extends HookEvent = HookEvent> = Event extends HookEvent
  ? HookCommon & HookFacts[Event] & { readonly hook_event_name: Event }
  : never;

/** A hook of the program that opened the session. Throwing counts as a command that can't be run. */
export type HookFunction<Event extends HookEvent = HookEvent> = (
  input: HookInput<Event>,
  signal: AbortSignal,
) => HookAnswer | undefined | Promise<HookAnswer | undefined>;

export interface CommandHook extends HookEntry {
  readonly kind: "command";
  readonly source: HookSource;
  /** Where the plugin stands that brought it. */
  readonly pluginRoot?: string;
}

export interface FunctionHook {
  readonly kind: "function";
  readonly event: HookEvent;
  readonly matcher?: string;
  readonly timeoutSeconds?: number;
  readonly source: HookSource;
  readonly run: HookFunction<never>;
}

export type Hook = CommandHook | FunctionHook;

/** As messages call it. */
export function nameOf(hook: Hook): string {
  if (hook.kind === "function") return `a ${hook.event} hook of the program`;
  const line = [hook.command, ...(hook.args ?? [])].join(" ").replaceAll(/\s+/g, " ").trim();
  return `the ${hook.event} hook "${line.length > 80 ? `${line.slice(0, 79)}…` : line}"`;
}
