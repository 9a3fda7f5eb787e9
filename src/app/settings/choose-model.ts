import { existsSync, readFileSync } from "node:fs";
import { describeError, isRecord, UserError } from "../../lib/index.ts";
import {
  createAnthropicSearch,
  createLimiter,
  createWireModel,
  type Limiter,
  type ProviderSearch,
  type ResolvedProvider,
  resolveProvider,
} from "../../model/index.ts";
import { createOfflineModel } from "../../offline/index.ts";
import type { Clock, Model } from "../../ports/index.ts";
import type { AgentDefinition, ModelOutcome, Settings } from "../../protocol/index.ts";
import { connectionSilenceMs } from "../../runs/index.ts";
import type { Environment } from "../directories.ts";

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
  const { agent, settings, flags } = options;
  const wanted = agent?.model;
  // `inherit` means the parent's model, and a main agent has no parent.
  if (agent === undefined || wanted === undefined || wanted === "inherit" || flags.model) return createChosen(options);
  const requested = { ...options, settings: { ...settings, model: wanted } };
  const choice = resolveProvider(requested);
  if (choice.kind === "problem") {
    const chosen = createChosen(options);
    const used = chosen.reason === "offline" ? "the offline model" : chosen.model.describe().model;
    const why = choice.message.replace(" (from settings.model)", "");
    const notice = `${placeOfModel(agent)}Agent "${agent.name}" can't use its model: ${why} It uses ${used} instead.`;
    return { ...chosen, notice: [chosen.notice, notice].filter(Boolean).join(" ") };
  }
  const chosen = createChosen(requested);
  return { ...chosen, reason: chosen.reason.replaceAll("settings.model", `agent ${agent.name}`) };
}

interface GivenModel {
  readonly model?: string | Model | undefined;
  readonly provider?: string | undefined;
}

/** Chooses a main agent's model: the one that the program supplies, or one by its name. */
export function chooseSessionModel(
  { model, provider }: GivenModel,
  { settings, environment, clock }: Pick<ModelOptions, "settings" | "environment" | "clock">,
  agent: AgentDefinition | undefined,
): ChosenModel {
  if (typeof model === "object")
    return { model: ownModel(model, settings), requested: null, reason: "supplied by the program" };
  return chooseModel({ settings, environment, clock, flags: { provider, model }, agent });
}

/**
 * Returns the program's model with the prices from the settings, if it has none of its own. A call that rejects or does
 * not return an outcome becomes a failure that says so.
 */
function ownModel(model: Model, { providers }: Settings): Model {
  const { provider, model: name, prices } = model.describe();
  const known = prices ?? providers?.[provider]?.prices?.[name];
  const invalid = (problem: string): ModelOutcome => {
    const message = `The program's model ${name} ${problem}`;
    return { ok: false, error: { code: "protocol", message }, partial: [] };
  };
  return {
    describe: () => (known === prices ? model.describe() : { ...model.describe(), prices: known }),
    call: async (request, emit) => {
      try {
        const outcome: unknown = await model.call(request, emit);
        return isOutcome(outcome)
          ? outcome
          : invalid("did not return an outcome: { ok: true, message, stopReason, … }.");
      } catch (error) {
        return invalid(`failed: ${describeError(error)}`);
      }
    },
  };
}

function isOutcome(value: unknown): value is ModelOutcome {
  if (!isRecord(value)) return false;
  const { ok, message, error, stopReason, usage } = value;
  if (ok === false) return isRecord(error) && typeof error["message"] === "string";
  return (
    ok === true && isRecord(message) && Array.isArray(message["content"]) && isRecord(usage) && stopReason !== undefined
  );
}

/** Returns the file and line that set an agent's model, for the beginning of a message. */
function placeOfModel({ file }: AgentDefinition): string {
  if (file === undefined) return "";
  if (!file.endsWith(".md") || !existsSync(file)) return `${file}: `;
  const lines = readFileSync(file, "utf8").split(/\r\n?|\n/);
  const index = lines.findIndex((line) => /^\s*(["']?)model\1\s*:/i.test(line));
  return `${file}:${index + 1 || 1}: `;
}

function createChosen({ settings, environment, flags, clock }: ModelOptions): ChosenModel {
  const choice = resolveProvider({ settings, environment, flags });
  if (choice.kind === "problem") throw new UserError(choice.message, { code: "provider", exitCode: 2 });
  if (choice.kind === "offline") {
    return { model: createOfflineModel(), requested: flags.model ?? null, reason: "offline", notice: choice.notice };
  }
  const { provider, model, reason, requested } = choice;
  const wire = { provider, model, limiter: limiterOf(provider, clock), clock, idleMs: connectionSilenceMs(settings) };
  const search = provider.name === "anthropic" ? createAnthropicSearch(wire) : undefined;
  return { model: createWireModel(wire), requested, reason, provider, search };
}

const limiters = new Map<string, Limiter>();

/** Returns a provider's limiter. The whole process shares one limiter per provider. */
function limiterOf({ name, baseUrl }: ResolvedProvider, clock: Clock): Limiter {
  const key = `${name} ${baseUrl}`;
  const known = limiters.get(key);
  if (known) return known;
  const made = createLimiter({ clock });
  limiters.set(key, made);
  return made;
}
