import type { Shell } from "./shells.ts";
import type { CommandEnd } from "./start-command.ts";

/** How a command ended, in words for the model; empty for a plain success. */
export function describeEnd(end: CommandEnd): string {
  if (!end.started) return end.failure;
  const shell = end.shell === "bash" ? "" : `There is no bash here: ${end.shell} ran the command.`;
  const how = end.signal !== null ? `Ended by ${end.signal}.` : end.code === 0 ? "" : `Exit code ${end.code}.`;
  return [shell, how].filter((part) => part !== "").join(" ");
}

export function exitCodeOf(end: CommandEnd | undefined): number | null {
  return end?.started ? end.code : null;
}

export function describeShell({ id, end, overflowed }: Shell): string {
  if (overflowed) return `${id}: stopped, its output grew too long.`;
  if (end === undefined) return `${id}: running.`;
  return `${id}: ${describeEnd(end) || "Exit code 0."}`;
}

export function noSuchShell(id: string, own: readonly Shell[]): string {
  if (own.length === 0) return `There is no shell ${id}: you have started none in the background.`;
  return `There is no shell ${id}. Yours: ${own.map((shell) => shell.id).join(", ")}.`;
}
