import { formatCount } from "../lib/index.ts";
import type { AgentRequest } from "./assemble-agent.ts";

/** Ids of models are free, so one nobody here knows is asked for all the same; but not without a word. */
export function aboutModel({
  model: { provider, model, window, efforts, prices },
  requestedModel,
}: Pick<AgentRequest, "model" | "requestedModel">): string | undefined {
  const isAsIs = requestedModel === model || requestedModel === `${provider}/${model}`;
  if (!isAsIs || efforts !== undefined || prices !== undefined) return undefined;
  return `The model "${model}" is not one of ${provider} that is known here. It is asked for as it is; ${formatCount(window)} tokens are assumed for its window, and nothing is known of its price (providers.${provider} in the settings can say both).`;
}
