import type { Settings } from "../protocol/index.ts";
import { isBackgroundOff } from "../settings/index.ts";
import type { Environment } from "./places.ts";

export interface BackgroundPlace {
  readonly settings: Settings;
  readonly environment: Environment;
}

/** Where it is switched off, that holds for agents whose file says otherwise too. */
export function mayBackground({ settings, environment }: BackgroundPlace): boolean {
  return settings.subagents?.background !== false && !isBackgroundOff(environment);
}
