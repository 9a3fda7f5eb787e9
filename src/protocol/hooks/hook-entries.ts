import { type HookEntry, type HookEvent, hookEvents } from "./hook.ts";

export interface HookEntries {
  readonly hooks: readonly HookEntry[];
  readonly problems: readonly HookProblem[];
}

/** An entry that is not run. */
export interface HookProblem {
  /** Key of the entry; absent if the whole value is invalid. */
  readonly event?: string | undefined;
  readonly message: string;
}

/**
 * Reads `{Event: [...]}` with entries `{matcher, hooks: [{type, command}]}`, `{matcher, command}` or `{type, command}`. An
 * entry of another shape is reported and never run, because its intent is unclear.
 */
export function readHookEntries(value: unknown, known: readonly HookEvent[] = hookEvents): HookEntries {
  const hooks: HookEntry[] = [];
  const problems: HookProblem[] = [];
  if (!isMapping(value))
    return { hooks, problems: [{ message: '"hooks" must map events to entries; nothing of it runs.' }] };
  for (const [event, entries] of Object.entries(value)) {
    const report = (message: string): void => void problems.push({ event, message });
    if (!isKnown(event, known)) report(unknownEvent(event));
    else for (const entry of Array.isArray(entries) ? entries : [entries]) readEntry(entry, { event, hooks, report });
  }
  return { hooks, problems };
}

interface Collected {
  readonly event: HookEvent;
  readonly hooks: HookEntry[];
  readonly report: (message: string) => void;
}

function readEntry(entry: unknown, { event, hooks, report }: Collected): void {
  const { matcher, hooks: nested } = isMapping(entry) ? entry : {};
  if (matcher !== undefined && matcher !== null && typeof matcher !== "string") {
    report(`A matcher of "${event}" is not a text; its hooks never run.`);
    return;
  }
  for (const handler of Array.isArray(nested) ? nested : [entry]) {
    const hook = readHandler(handler, event);
    if (typeof hook === "string") report(hook);
    else hooks.push({ ...hook, matcher: matcher ?? undefined });
  }
}

/** Returns the hook, or a description of what is wrong. */
function readHandler(handler: unknown, event: HookEvent): HookEntry | string {
  if (!isMapping(handler)) return `An entry of "${event}" has no command; it never runs.`;
  const { type, command, args, timeout } = handler;
  if (type !== undefined && type !== "command")
    return `A hook of "${event}" has the type ${shown(type)}; only "command" is run here.`;
  if (typeof command !== "string" || command.trim() === "")
    return `An entry of "${event}" has no command; it never runs.`;
  if (handler["if"] !== undefined)
    return `A hook of "${event}" has a condition ("if"), which is not known here; it never runs.`;
  if (args !== undefined && !isTexts(args))
    return `The arguments of a hook of "${event}" are not a list of texts; it never runs.`;
  const seconds = Number(timeout);
  return {
    event,
    command,
    args,
    timeoutSeconds: seconds > 0 && Number.isFinite(seconds) ? seconds : undefined,
  };
}

function unknownEvent(event: string): string {
  const name = `"${event.slice(0, 40)}"`;
  if (isKnown(event, hookEvents))
    return `Hook event ${name} belongs into settings, not into a definition; it never runs.`;
  return `Hook event ${name} is not known here; it never runs.`;
}

function isKnown(event: string, known: readonly HookEvent[]): event is HookEvent {
  return (known as readonly string[]).includes(event);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "undefined").slice(0, 40);
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
