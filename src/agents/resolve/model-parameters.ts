import { formatCount } from "../../lib/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Effort } from "../../protocol/index.ts";
import type { AgentRequest } from "./resolution.ts";

export interface ChosenEffort {
  /** Absent: nothing is sent, and the model uses its own default. */
  readonly effort?: Effort;
  readonly notice?: string;
}

const ascending: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

interface EffortModel extends Pick<ModelDescription, "model" | "efforts" | "noEffortWithTools"> {
  readonly hasTools: boolean;
}

/** Replaces a level that the model does not have by the next lower one, so that it never costs more than requested. */
export function chooseEffort(
  wanted: Effort | undefined,
  { model, efforts, noEffortWithTools, hasTools }: EffortModel,
): ChosenEffort {
  if (wanted === undefined) return {};
  if (noEffortWithTools && hasTools) {
    return {
      notice: `As it is reached here, the model ${model} takes tools only if it does not reason: effort "${wanted}" is left out.`,
    };
  }
  if (efforts === undefined) {
    return {
      effort: wanted,
      notice: `It is not known whether the model ${model} has levels of effort: "${wanted}" is sent as it is. If the provider refuses it, leave effort out.`,
    };
  }
  if (efforts.includes(wanted)) return { effort: wanted };
  const known = ascending.filter((level) => efforts.includes(level));
  const effort = known.findLast((level) => ascending.indexOf(level) < ascending.indexOf(wanted)) ?? known[0];
  if (effort === undefined) {
    return {
      notice: `The model ${model} has no levels of effort: "${wanted}" is left out, and its own default is used.`,
    };
  }
  return { effort, notice: `The model ${model} has no effort "${wanted}": "${effort}" is used instead.` };
}

/** Returns a notice if a model was requested by an id that Retinue does not know; such ids are sent as they are. */
export function unknownModelNotice({
  model: { provider, model, window, efforts, prices },
  requestedModel,
}: Pick<AgentRequest, "model" | "requestedModel">): string | undefined {
  const isById = requestedModel === model || requestedModel === `${provider}/${model}`;
  if (!isById || efforts !== undefined || prices !== undefined) return undefined;
  return `The model "${model}" is not one of ${provider} that is known here. It is asked for as it is; ${formatCount(window)} tokens are assumed for its window, and nothing is known of its price (providers.${provider} in the settings can say both).`;
}
