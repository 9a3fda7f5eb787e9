import { describeModel, resolveProvider } from "../../model/index.ts";
import { readProjectSettings } from "../../worker/index.ts";
import type { Environment } from "../directories.ts";

export interface ModelSearch {
  /** State directory. */
  readonly home: string;
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly environment: Environment;
  readonly model: string | undefined;
}

/**
 * Returns the model that sessions in a directory would use, but only if its price is unknown, so that sessions can't
 * have a limit in dollars. Otherwise, or if no model can be chosen now, returns undefined.
 */
export function unpricedModel({ home, cwd, environment, model }: ModelSearch): string | undefined {
  const { settings } = readProjectSettings({ home, cwd, environment, trust: false });
  const choice = resolveProvider({ settings, environment, flags: { model } });
  if (choice.kind !== "wire") return undefined;
  return describeModel(choice.provider, choice.model).prices === undefined ? choice.model : undefined;
}
