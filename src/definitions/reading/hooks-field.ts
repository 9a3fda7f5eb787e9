import type { HookEntry } from "../../protocol/index.ts";
import type { Field } from "./field.ts";
import { numberOf } from "./field-values.ts";

export interface ReadHooks {
  readonly hooks: readonly HookEntry[];
  /** What is not kept, each as one sentence. */
  readonly problems: readonly string[];
}

const events = new Set(["PreToolUse", "PostToolUse", "Stop", "SubagentStop"]);

/** `{Event: [...]}` with entries `{matcher, hooks: [{type, command}]}`, `{matcher, command}` or `{type, command}`. */
export function readHooks({ value }: Field): ReadHooks {
  const hooks: HookEntry[] = [];
  const problems: string[] = [];
  if (!isMapping(value)) return { hooks, problems: ['"hooks" must map events to entries; nothing of it runs.'] };
  for (const [event, entries] of Object.entries(value)) {
    if (!events.has(event)) {
      problems.push(`Hook event "${event.slice(0, 40)}" is not known in a definition; it never runs.`);
      continue;
    }
    for (const entry of Array.isArray(entries) ? entries : [entries]) readEntry(entry, { event, hooks, problems });
  }
  return { hooks, problems };
}

interface Collected {
  readonly event: string;
  readonly hooks: HookEntry[];
  readonly problems: string[];
}

function readEntry(entry: unknown, { event, hooks, problems }: Collected): void {
  const unreadable = `An entry of "${event}" has no command; it never runs.`;
  if (!isMapping(entry)) {
    problems.push(unreadable);
    return;
  }
  const { matcher } = entry as { matcher?: unknown };
  if (matcher !== undefined && matcher !== null && typeof matcher !== "string") {
    problems.push(`A matcher of "${event}" is not a text; its hooks never run.`);
    return;
  }
  const nested = (entry as { hooks?: unknown }).hooks;
  for (const handler of Array.isArray(nested) ? nested : [entry]) {
    const hook = readHandler(handler, event);
    if (hook === undefined) problems.push(unreadable);
    else hooks.push({ ...hook, ...(typeof matcher === "string" ? { matcher } : {}) });
  }
}

function readHandler(handler: unknown, event: string): HookEntry | undefined {
  if (!isMapping(handler)) return undefined;
  const { type, command, timeout } = handler as { type?: unknown; command?: unknown; timeout?: unknown };
  if (type !== undefined && type !== "command") return undefined;
  if (typeof command !== "string" || command.trim() === "") return undefined;
  const seconds = numberOf(timeout);
  return { event, command, ...(seconds !== undefined && seconds > 0 ? { timeoutSeconds: seconds } : {}) };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
