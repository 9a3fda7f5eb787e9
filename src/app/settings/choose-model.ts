import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { UserError } from "../../lib/index.ts";
import {
  createAnthropicSearch,
  createLimiter,
  createProgramModel,
  createWireModel,
  type Limiter,
  type ProviderChoice,
  type ProviderSearch,
  type ResolvedProvider,
  resolveProvider,
} from "../../model/index.ts";
import { createOfflineModel } from "../../offline/index.ts";
import type { Clock, Model } from "../../ports/index.ts";
import type { AgentDefinition, Settings, SettingsOrigin } from "../../protocol/index.ts";
import { connectionSilenceMs } from "../../runs/index.ts";
import type { Environment } from "../directories.ts";
import { settingPlace } from "./setting-place.ts";

export interface ChosenModel {
  readonly model: Model;
  readonly requested: string | null;
  readonly reason: string;
  /** Provider of the model; undefined for models that do not use HTTP. */
  readonly provider?: ResolvedProvider | undefined;
  /** The provider's web search, if it has one. */
  readonly search?: ProviderSearch | undefined;
  /** Message for the user. */
  readonly notice?: string | undefined;
}

export interface ModelOptions {
  readonly settings: Settings;
  /** Places of the settings in files, for messages. */
  readonly origins?: readonly SettingsOrigin[] | undefined;
  readonly environment: Environment;
  readonly flags: { readonly provider?: string | undefined; readonly model?: string | undefined };
  readonly clock: Clock;
  /** Agent that uses the model. */
  readonly agent?: AgentDefinition | undefined;
}

/**
 * Chooses a model according to flags, then the agent's definition, then settings, then environment variables. Without
 * any of these, chooses the offline model. Throws a `UserError` for an invalid choice.
 */
export function chooseModel(options: ModelOptions): ChosenModel {
  const { agent, settings, flags, origins } = options;
  const wanted = agent?.model;
  // `inherit` means the parent's model, and a main agent has no parent.
  if (agent === undefined || wanted === undefined || wanted === "inherit" || flags.model) return createChosen(options);
  const others = origins?.filter(({ path }) => path !== "model");
  const requested = { ...options, settings: { ...settings, model: wanted }, origins: others };
  const choice = resolveProvider(requested);
  if (choice.kind === "problem") {
    const chosen = createChosen(options);
    const used = chosen.reason === "offline" ? "the offline model" : chosen.model.describe().model;
    const why = problemText(choice, others).replace(" (from settings.model)", "");
    const notice = `${placeOfModel(agent)}Agent "${agent.name}" can't use its model: ${why} It uses ${used} instead.`;
    return { ...chosen, notice: [chosen.notice, notice].filter(Boolean).join(" ") };
  }
  const chosen = createChosen(requested);
  return { ...chosen, reason: chosen.reason.replaceAll("settings.model", `agent ${agent.name}`) };
}

/** Returns the message about a problem, with the file and line of the setting that caused it. */
export function problemText(
  { message, setting }: Extract<ProviderChoice, { kind: "problem" }>,
  origins: readonly SettingsOrigin[] | undefined,
): string {
  const place = setting === undefined ? undefined : settingPlace(setting, origins);
  return place === undefined ? message : `${place}: ${message}`;
}

interface GivenModel {
  readonly model?: string | Model | undefined;
  readonly provider?: string | undefined;
  readonly settingsOrigins?: readonly SettingsOrigin[] | undefined;
}

/** Chooses a main agent's model: the model object that the program supplies, or a model by name. */
export function chooseSessionModel(
  { model, provider, settingsOrigins: origins }: GivenModel,
  { settings, environment, clock }: Pick<ModelOptions, "settings" | "environment" | "clock">,
  agent: AgentDefinition | undefined,
): ChosenModel {
  if (typeof model === "object")
    return { model: programModel(model, settings, clock), requested: null, reason: "supplied by the program" };
  return chooseModel({ settings, origins, environment, clock, flags: { provider, model }, agent });
}

function programModel(model: Model, { providers }: Settings, clock: Clock): Model {
  const { provider, model: name } = model.describe();
  const prices = providers?.[provider]?.prices?.[name];
  const limiter = limitersOfPrograms.get(model) ?? createLimiter({ clock });
  limitersOfPrograms.set(model, limiter);
  return createProgramModel(model, { limiter, clock, prices });
}

/** Sessions that use the same model object share its limiter. */
const limitersOfPrograms = new WeakMap<Model, Limiter>();

/** Returns the file and line that set an agent's model, for use at the start of a message. */
function placeOfModel({ file }: AgentDefinition): string {
  if (file === undefined) return "";
  if (!file.endsWith(".md") || !existsSync(file)) return `${file}: `;
  const lines = readFileSync(file, "utf8").split(/\r\n?|\n/);
  const index = lines.findIndex((line) => /^\s*(["']?)model\1\s*:/i.test(line));
  return `${file}:${index + 1 || 1}: `;
}

function createChosen({ settings, origins, environment, flags, clock }: ModelOptions): ChosenModel {
  const choice = resolveProvider({ settings, environment, flags });
  if (choice.kind === "problem") throw new UserError(problemText(choice, origins), { code: "provider", exitCode: 2 });
  if (choice.kind === "offline") {
    return { model: createOfflineModel(), requested: flags.model ?? null, reason: "offline", notice: choice.notice };
  }
  const { provider, model, reason, requested, notice } = choice;
  const wire = {
    provider,
    model,
    limiter: limiterOf(provider, model, clock),
    clock,
    idleMs: connectionSilenceMs(settings),
  };
  const search = provider.name === "anthropic" ? createAnthropicSearch(wire) : undefined;
  return { model: createWireModel(wire), requested, reason, provider, search, notice };
}

const limiters = new Map<string, Limiter>();

/**
 * Returns the limiter for a model. The whole process shares one limiter for each provider, key and model, because
 * providers limit models separately.
 */
function limiterOf({ name, baseUrl, secretHeaders }: ResolvedProvider, model: string, clock: Clock): Limiter {
  const credentials = createHash("sha256").update(JSON.stringify(secretHeaders())).digest("hex");
  const key = [name, baseUrl, model, credentials].join(" ");
  const known = limiters.get(key);
  if (known) return known;
  const made = createLimiter({ clock });
  limiters.set(key, made);
  return made;
}
