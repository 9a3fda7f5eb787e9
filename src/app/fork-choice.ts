import type { ForkChoice, Settings } from "../protocol/index.ts";

export interface ForkPlace {
  /** Of the program or the command line; beats the settings. */
  readonly asked?: ForkChoice | undefined;
  readonly settings: Settings;
  /** A person is there. */
  readonly interactive: boolean;
  /** The main agent only gives work to others: what it knows is what they told it. */
  readonly coordinator: boolean;
}

/** Whether agents may start forks of themselves. */
export function mayFork({ asked, settings, interactive, coordinator }: ForkPlace): boolean {
  if (coordinator) return false;
  const choice = asked ?? settings.fork ?? "auto";
  return choice === "auto" ? interactive : choice === "on";
}
