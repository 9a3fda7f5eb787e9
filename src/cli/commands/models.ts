import {
  type AbilityCheck,
  type ListedProvider,
  type LookedUpModel,
  listProviders,
  loadProjectSettings,
  lookUpModel,
  type ModelFacts,
  type ModelTest,
  stateDirectory,
  systemClock,
  testModel,
} from "../../app/index.ts";
import { oneLine } from "../../client/index.ts";
import { formatCount, formatDuration, maskAddresses, plural, UserError } from "../../lib/index.ts";
import type { LoadedSettings, TokenPrices } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines, withFlags } from "../output.ts";
import { helpOption, type OptionKinds, readVerb, refusePositionals, usageError } from "../read-options.ts";
import { realDirectory } from "../real-directory.ts";
import { renderTable } from "./listing.ts";

const common: OptionKinds = { json: {}, provider: { value: "NAME" }, settings: { value: "FILE" }, help: helpOption };
const verbs = { list: common, show: common, test: common };

/** Runs `retinue models list|show|test`. */
export async function models(argv: readonly string[]): Promise<number> {
  const read = readVerb("models", argv, { verbs });
  if ("kind" in read) return printHelp(read.topic);
  const { verb, options } = read;
  const provider = options.value("provider");
  const json = options.has("json");
  const loaded = settingsFrom(options.value("settings"));
  if (verb === "list") {
    refusePositionals(options, "models list", "For one model: retinue models show MODEL.");
    return list(loaded, { provider, json });
  }
  const [model, extra] = options.positionals;
  const example = `For example: retinue models ${verb} claude-haiku-5-5.`;
  if (model === undefined) throw usageError(`"models ${verb}" needs the name of a model`, example);
  if (extra !== undefined) throw usageError(`"models ${verb}" accepts one model, not "${extra}" too`, example);
  return verb === "show" ? show(loaded, { provider, model, json }) : test(loaded, { provider, model, json });
}

function settingsFrom(file: string | undefined): LoadedSettings {
  const home = stateDirectory(process.env);
  return loadProjectSettings({ home, cwd: realDirectory("."), environment: process.env, trust: false, file });
}

interface Query {
  readonly provider: string | undefined;
  readonly json: boolean;
}

interface ModelQuery extends Query {
  readonly model: string;
}

async function list({ settings }: LoadedSettings, { provider, json }: Query): Promise<number> {
  const providers = await listProviders({ settings, environment: process.env, flags: { provider } });
  const [only] = providers;
  if (only === undefined) {
    const request = { settings, environment: process.env, flags: { provider, model: `${provider}/any` } };
    const looked = lookUpModel(request);
    throw notUsable(looked.kind === "problem" ? looked.message : `Nothing is known about models of "${provider}".`);
  }
  const failed = providers.filter(({ isConfigured, problem }) => isConfigured && problem !== undefined);
  const output = createOutput(process.stdout);
  if (json) await output.write(`${JSON.stringify({ providers }, null, 2)}\n`);
  else await output.write(renderProviders(providers));
  if (!json) await createOutput(process.stderr).write(messageLines(failed.map(({ problem = "" }) => problem)));
  return failed.length > 0 ? exitCodes.failed : exitCodes.succeeded;
}

async function show({ settings }: LoadedSettings, { provider, model, json }: ModelQuery): Promise<number> {
  const looked = lookUpModel({ settings, environment: process.env, flags: { provider, model } });
  if (looked.kind === "problem") throw notUsable(looked.message);
  const { facts, tiers, problem, notice } = looked;
  const output = createOutput(process.stdout);
  if (json) await output.write(`${JSON.stringify({ ...facts, sizes: tiers, problem, notice }, null, 2)}\n`);
  else await output.write(renderFacts(looked));
  return exitCodes.succeeded;
}

async function test({ settings, origins }: LoadedSettings, { provider, model, json }: ModelQuery): Promise<number> {
  const flags = { provider, model };
  const result = await testModel({ settings, origins, environment: process.env, flags, clock: systemClock });
  const output = createOutput(process.stdout);
  await output.write(json ? `${JSON.stringify(shownResult(result), null, 2)}\n` : renderTest(result));
  if (result.error?.code === "auth" || result.error?.code === "unknown_model") return exitCodes.usage;
  return result.isUsable ? exitCodes.succeeded : exitCodes.failed;
}

function notUsable(message: string): UserError {
  return new UserError(withFlags(message), { code: "provider", exitCode: exitCodes.usage });
}

function renderProviders(providers: readonly ListedProvider[]): string {
  const head = ["MODEL", "SIZE", "WINDOW", "INPUT", "OUTPUT", "CACHE READ", "LONG PROMPTS", "REACHED"];
  const rows = providers.flatMap((listed) => listed.models.map((facts) => modelRow(facts, reachOf(listed, facts))));
  const others = providers.flatMap(({ provider, others }) =>
    others.length === 0 ? [] : [otherModels(provider, others)],
  );
  const about =
    "Prices are in dollars per million tokens. REACHED: whether the provider offers the model for your key.";
  return [renderTable([head, ...rows], 0), `${about}\n`, ...others.map((line) => `${line}\n`)].join("");
}

type ListedFacts = ListedProvider["models"][number];

function modelRow(facts: ListedFacts, reach: string): readonly string[] {
  const { provider, model, tiers, isKnown, window, prices } = facts;
  const { longPrompts = [] } = prices ?? {};
  const price = (value: number | undefined): string => (value === undefined ? "?" : String(value));
  const long = longPrompts.map(({ above, input }) => `${price(input)} above ${formatCount(above)}`);
  return [
    `${provider}/${model}`,
    tiers.join(", ") || "-",
    isKnown ? formatCount(window) : `${formatCount(window)}?`,
    ...[prices?.input, prices?.output, prices?.cacheRead].map(price),
    long.join(", ") || "-",
    reach,
  ];
}

function reachOf({ isConfigured }: ListedProvider, { isReachable }: ListedFacts): string {
  if (!isConfigured) return "no key";
  return isReachable === undefined ? "?" : isReachable ? "yes" : "no";
}

/** Maximum number of models that Retinue knows nothing about and that are named. */
const MAX_OTHERS = 12;

function otherModels(provider: string, others: readonly string[]): string {
  const more = others.length > MAX_OTHERS ? ` and ${others.length - MAX_OTHERS} more (--json lists all)` : "";
  const names = others.slice(0, MAX_OTHERS).map(oneLine).join(", ");
  return `${provider} also offers ${plural(others.length, "model")} that Retinue knows nothing about: ${names}${more}.`;
}

const thinkingWords: Readonly<Record<NonNullable<ModelFacts["thinking"]>, string>> = {
  always: "always on",
  adaptive: "adaptive: the model decides when to think",
  effort: "as much as the effort says",
  budget: "off, because it would need a number of tokens, which Retinue does not set",
  none: "none",
};

function renderFacts({ facts, tiers, problem, notice }: Extract<LookedUpModel, { kind: "found" }>): string {
  const { isKnown, window, maxOutputTokens, prices, cacheMinimumTokens, efforts, thinking, can, aliases, note } = facts;
  const assumed = isKnown ? "" : " (assumed, because Retinue does not know the model)";
  const sizes = Object.entries(tiers).map(([size, model]) => `${size} = ${model}`);
  const rows: readonly (readonly [string, string])[] = [
    ["provider", `${facts.provider} (${facts.dialect} format)`],
    ["window", `${formatCount(window)} tokens, with a response of up to ${formatCount(maxOutputTokens)}${assumed}`],
    ["prices", prices === undefined ? "unknown" : priceWords(prices)],
    ...(prices?.longPrompts ?? []).map((band): [string, string] => [
      `> ${formatCount(band.above)}`,
      `${priceWords(band)}, for the whole request if its prompt is longer`,
    ]),
    [
      "cache",
      cacheMinimumTokens === undefined ? "unknown" : `prompts of at least ${formatCount(cacheMinimumTokens)} tokens`,
    ],
    ["thinking", thinking === undefined ? "unknown" : thinkingWords[thinking]],
    ["effort", efforts === undefined ? "unknown" : efforts.join(", ") || "not supported"],
    ["accepts", can === undefined ? "unknown" : ["text", ...can].join(", ")],
    ["names", [`${facts.provider}/${facts.model}`, ...aliases].join(", ")],
    ["sizes", sizes.join(", ") || `none; set providers.${facts.provider}.models in your settings`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${oneLine(text)}`);
  const notes = [note, notice, problem].filter((text) => text !== undefined);
  return `${[oneLine(facts.model), ...lines, ...notes.map((text) => `  ! ${oneLine(withFlags(text))}`)].join("\n")}\n`;
}

function priceWords({ input, output, cacheRead, cacheWrite, cacheWrite1h = 2 * input }: TokenPrices): string {
  const writes = `cache write $${cacheWrite} (for an hour: $${cacheWrite1h})`;
  return `input $${input}, output $${output}, cache read $${cacheRead}, ${writes}`;
}

const signs = { works: "✓", unknown: "?", fails: "✗" } as const;

/** Returns a result with the messages of this command line. */
function shownResult(result: ModelTest): ModelTest {
  const shown = (text: string): string => oneLine(withFlags(maskAddresses(text)));
  const checks = result.checks.map(
    ({ found, fix, ...check }): AbilityCheck => ({
      ...check,
      found: shown(found),
      fix: fix && shown(fix),
    }),
  );
  return { ...result, checks, error: result.error && { ...result.error, message: shown(result.error.message) } };
}

function renderTest(result: ModelTest): string {
  const { provider, model, checks, requests, costUsd, milliseconds, isUsable } = shownResult(result);
  const lines = checks.flatMap(({ ability, status, found, fix }) => [
    `${signs[status]} ${ability.padEnd(9)}  ${found}`,
    ...(fix === undefined ? [] : [`${" ".repeat(13)}→ ${fix}`]),
  ]);
  const cost = costUsd === undefined ? "cost unknown" : `$${costUsd.toFixed(4)}`;
  const verdict = isUsable ? "Agents can work with this model." : "Agents can't work with this model.";
  const about = `${plural(requests, "request")}, ${cost}, ${formatDuration(milliseconds)}`;
  return `${[`${provider}/${model}`, ...lines, "", `${verdict} (${about})`].map((line) => `${line}\n`).join("")}`;
}
