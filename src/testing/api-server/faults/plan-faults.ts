import { seededRandom } from "../seeded-random.ts";
import type { Fault, PlannedFault } from "../types.ts";

/** The server's own fault for the n-th model call; the first plan that applies wins. */
export function planFaults(plans: readonly PlannedFault[], seed: number): (ordinal: number) => Fault | undefined {
  return (ordinal) => {
    const random = seededRandom(seed, ordinal * 7919);
    return plans.find((plan) => applies(plan, ordinal, random))?.fault;
  };
}

function applies(plan: PlannedFault, ordinal: number, random: () => number): boolean {
  if ("first" in plan) return ordinal <= plan.first;
  if ("chance" in plan) return random() < plan.chance;
  return typeof plan.at === "number" ? plan.at === ordinal : plan.at.includes(ordinal);
}
