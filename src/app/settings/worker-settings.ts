import type { WorkerPort } from "../../ports/index.ts";
import type { AgentBudget, ProjectSettings, Settings } from "../../protocol/index.ts";
import { readValidSettings } from "../../worker/index.ts";

export interface WorkerSettingsOptions {
  readonly worker: Pick<WorkerPort, "settings" | "describe">;
  /**
   * Settings of the machine on which the session runs, if the worker is on another one. The session's user pays for the
   * models and so chooses them. The worker's user controls files and programs, which are on the worker's machine.
   */
  readonly own?: ProjectSettings | undefined;
  /** Settings for this session, such as its budget. */
  readonly flags?: Settings | undefined;
}

/** Loads the settings for a session on a worker. Throws a `UserError` if one of the worker's files is invalid. */
export async function loadWorkerSettings({ worker, own, flags }: WorkerSettingsOptions): Promise<ProjectSettings> {
  const theirs = await readValidSettings(worker, flags);
  return own === undefined ? theirs : combine(theirs, own);
}

/** Settings for models and their keys, which come from the machine on which the session runs. */
const ownKeys = [
  "provider",
  "providers",
  "model",
  "search",
  "cache",
  "env",
] as const satisfies readonly (keyof Settings)[];

function combine(theirs: ProjectSettings, own: ProjectSettings): ProjectSettings {
  const settings: { -readonly [Key in keyof Settings]: Settings[Key] } = { ...theirs.settings };
  for (const key of ownKeys) delete settings[key];
  Object.assign(settings, pick(own.settings));
  const budget = lowerBudget(theirs.settings.budget, own.settings.budget);
  if (budget !== undefined) settings.budget = budget;
  const mode = own.settings.permissions?.disableBypassPermissionsMode;
  if (mode !== undefined) settings.permissions = { ...settings.permissions, disableBypassPermissionsMode: mode };
  const taken: string[] = [...ownKeys];
  // Each machine's user can choose the compact profile, whose limits are stricter, and have work verified.
  if (own.settings.profile === "compact") {
    settings.profile = "compact";
    taken.push("profile");
  }
  const { verify } = own.settings;
  if (verify === "auto" || (verify === "suggest" && settings.verify !== "auto")) {
    settings.verify = verify;
    taken.push("verify");
  }
  const isOwn = (path: string): boolean => taken.some((key) => path === key || path.startsWith(`${key}.`));
  return {
    ...theirs,
    settings,
    origins: [...theirs.origins.filter(({ path }) => !isOwn(path)), ...own.origins.filter(({ path }) => isOwn(path))],
    // Restrictions from both machines apply. Only the worker's machine, where the files are, grants permissions.
    rules: [...theirs.rules, ...own.rules.filter(({ effect }) => effect !== "allow")],
  };
}

function pick(settings: Settings): Settings {
  return Object.fromEntries(ownKeys.filter((key) => settings[key] !== undefined).map((key) => [key, settings[key]]));
}

/** Returns the lower of two budgets' limits for each kind of spending. */
function lowerBudget(one: AgentBudget | undefined, other: AgentBudget | undefined): AgentBudget | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const lower = Object.entries(other).map(([key, limit]) => {
    const present = one[key as keyof AgentBudget];
    return [key, present === undefined ? limit : Math.min(present, limit)];
  });
  return { ...one, ...Object.fromEntries(lower) };
}
