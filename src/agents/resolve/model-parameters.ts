import { formatCount } from "../../lib/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Effort } from "../../protocol/index.ts";
import type { AgentRequest } from "./resolution.ts";

export interface ChosenEffort {
  /** Effort to request. If absent, the request specifies no effort, and the model uses its default. */
  readonly effort?: Effort;
  readonly notice?: string;
}

const ascending: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

interface EffortModel extends Pick<ModelDescription, "model" | "efforts" | "noEffortWithTools"> {
  readonly hasTools: boolean;
}

/**
 * Returns the effort level to use. A level that the model does not support is replaced by the next lower one, so that a
 * request never costs more than intended.
 */
export function chooseEffort(
  wanted: Effort | undefined,
  { model, efforts, noEffortWithTools, hasTools }: EffortModel,
): ChosenEffort {
  if (wanted === undefined) return {};
  if (noEffortWithTools && hasTools) {
    return {
      notice: `For the model ${model}, this API accepts tools only without reasoning, so effort "${wanted}" is omitted.`,
    };
  }
  if (efforts === undefined) {
    return {
      effort: wanted,
      notice: `It is unknown whether the model ${model} supports effort; sending "${wanted}" anyway. If the provider rejects it, omit effort.`,
    };
  }
  if (efforts.includes(wanted)) return { effort: wanted };
  const known = ascending.filter((level) => efforts.includes(level));
  const effort = known.findLast((level) => ascending.indexOf(level) < ascending.indexOf(wanted)) ?? known[0];
  if (effort === undefined) {
    return {
      notice: `The model ${model} does not support effort: "${wanted}" is omitted, and the model's default is used.`,
    };
  }
  return { effort, notice: `The model ${model} does not support effort "${wanted}"; using "${effort}" instead.` };
}

/** Returns a notice if the requested model id is unknown to Retinue. Unknown ids are sent unchanged. */
export function unknownModelNotice({
  model: { provider, model, window, efforts, prices },
  requestedModel,
}: Pick<AgentRequest, "model" | "requestedModel">): string | undefined {
  const isById = requestedModel === model || requestedModel === `${provider}/${model}`;
  if (!isById || efforts !== undefined || prices !== undefined) return undefined;
  return `Unknown ${provider} model "${model}"; assuming a window of ${formatCount(window)} tokens and no price. To set both, use providers.${provider} in your settings.`;
}
