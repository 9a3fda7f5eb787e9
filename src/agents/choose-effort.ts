import type { ModelDescription } from "../ports/index.ts";
import type { Effort } from "../protocol/index.ts";

export interface ChosenEffort {
  /** Absent: nothing is sent, so the model's own default counts. */
  readonly effort?: Effort;
  readonly notice?: string;
}

const ascending: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

/** A level the model does not have becomes the next lower one it has: nobody pays for more than was asked for. */
export function chooseEffort(
  wanted: Effort | undefined,
  { model, efforts, noEffortWithTools, hasTools }: ModelDescription & { readonly hasTools: boolean },
): ChosenEffort {
  if (wanted === undefined) return {};
  if (noEffortWithTools && hasTools) {
    return {
      notice: `As it is reached here, the model ${model} takes tools only if it does not reason: effort "${wanted}" is left out.`,
    };
  }
  if (efforts === undefined || efforts.includes(wanted)) return { effort: wanted };
  const known = ascending.filter((level) => efforts.includes(level));
  const effort = known.findLast((level) => ascending.indexOf(level) < ascending.indexOf(wanted)) ?? known[0];
  if (effort === undefined) {
    return {
      notice: `The model ${model} has no levels of effort: "${wanted}" is left out, and its own default is used.`,
    };
  }
  return { effort, notice: `The model ${model} has no effort "${wanted}": "${effort}" is used instead.` };
}
