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
