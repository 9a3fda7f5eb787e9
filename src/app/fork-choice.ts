import type { Settings } from "../protocol/index.ts";

export interface ForkPlace {
  readonly settings: Settings;
  /** A person is there. */
  readonly interactive: boolean;
  /** The main agent only gives work to others: what it knows is what they told it. */
  readonly coordinator: boolean;
}

/** Whether agents may start forks of themselves. */
export function mayFork({ settings: { fork = "auto" }, interactive, coordinator }: ForkPlace): boolean {
  if (coordinator) return false;
  return fork === "auto" ? interactive : fork === "on";
}
