import type { Effort, LongPromptPrices, ModelTier, Prices, TokenPrices } from "../../protocol/index.ts";

// The table of known models, as text: a process looks up one or two models, and reads only their lines.

/**
 * Public list prices, limits and abilities as published in November 2026, by provider and model id without a date.
 * `scripts/update-models.mjs` updates the lines from a file in the format of models.dev, except for the columns
 * `minimum`, `thinking` and `note`, and `compaction` in the column `can`. Settings override prices and limits (`providers.<name>`).
 *
 * window, output: in tokens; the window includes the output. minimum: number of tokens below which the provider caches
 * nothing (from Anthropic's and Google's pages on caching as of October 2026; it can't be derived from a model's family
 * or age).
 * efforts: lowest first. thinking: `always` if it can't be turned off; `adaptive` if the model decides when to think;
 * `effort` if only the effort decides; `budget` if a request has to set a number of tokens, which Retinue does not do.
 * can: `compaction` if the provider documents that it summarizes conversations with this model on demand. input, output, read, write: dollars per million tokens; a write is kept for five minutes, or for
 * OpenAI's only lifetime. long prompts: the same four prices for prompts with more tokens than this. Promotional prices
 * that end on a known day are left out, so that a limit still holds after that day.
 */
export const models = `
model                        window     output   minimum  efforts                    thinking  can                      input  output  read   write  long prompts                 # note
anthropic/claude-fable-5-2   1_000_000  128_000  512      low,medium,high,xhigh,max  always    images,tools             8      40      0.2    10     -
anthropic/claude-fable-5-1   1_000_000  128_000  512      low,medium,high,xhigh,max  always    images,tools,compaction  10     50      0.25   12.5   -
anthropic/claude-fable-5     1_000_000  128_000  512      low,medium,high,xhigh,max  adaptive  images,tools,compaction  10     50      1      12.5   -
anthropic/claude-opus-5-5    1_000_000  128_000  512      low,medium,high,xhigh,max  always    images,tools,compaction  4      20      0.2    5      -
anthropic/claude-opus-5      1_000_000  128_000  512      low,medium,high,xhigh,max  adaptive  images,tools,compaction  5      25      0.5    6.25   -
anthropic/claude-opus-4-8    1_000_000  128_000  1_024    low,medium,high,xhigh,max  adaptive  images,tools,compaction  5      25      0.5    6.25   -
anthropic/claude-opus-4-7    1_000_000  128_000  2_048    low,medium,high,xhigh,max  adaptive  images,tools,compaction  5      25      0.5    6.25   -
anthropic/claude-opus-4-6    1_000_000  128_000  4_096    low,medium,high,max        adaptive  images,tools,compaction  5      25      0.5    6.25   -
anthropic/claude-opus-4-5    200_000    64_000   4_096    low,medium,high            budget    images,tools             5      25      0.5    6.25   -
anthropic/claude-sonnet-5-5  1_000_000  128_000  512      low,medium,high,xhigh,max  always    images,tools             2      10      0.1    2.5    -
anthropic/claude-sonnet-5    1_000_000  128_000  1_024    low,medium,high,xhigh,max  adaptive  images,tools,compaction  2      10      0.2    2.5    -
anthropic/claude-sonnet-4-6  200_000    64_000   1_024    low,medium,high,max        adaptive  images,tools,compaction  3      15      0.3    3.75   -
anthropic/claude-sonnet-4-5  200_000    64_000   1_024    -                          budget    images,tools             3      15      0.3    3.75   -
anthropic/claude-haiku-5-5   1_000_000  128_000  512      low,medium,high,xhigh,max  adaptive  images,tools             0.1    0.5     0.01   0.125  >100_000:0.5/2.5/0.05/0.625
anthropic/claude-haiku-4-5   200_000    64_000   4_096    -                          budget    images,tools             1      5       0.1    1.25   -
openai/gpt-6.2-astra         1_050_000  128_000  1_024    low,medium,high,xhigh      always    images,tools             8      40      0.4    10     >272_000:16/60/0.8/20
openai/gpt-6.2-sol           1_050_000  128_000  1_024    low,medium,high,xhigh      always    images,tools             2      10      0.2    2.5    >272_000:4/15/0.4/5          # The price of cache reads could not be verified; it may be half of this.
openai/gpt-6-astra           1_050_000  128_000  1_024    low,medium,high,xhigh      always    images,tools             10     50      1      12.5   >272_000:20/75/2/25
openai/gpt-6.1-sol           1_050_000  128_000  1_024    low,medium,high,xhigh      always    images,tools             2      10      0.1    2.5    >272_000:4/15/0.2/5
openai/gpt-6.1-terra         1_050_000  128_000  1_024    low,medium,high,xhigh      effort    images,tools             1      5       0.05   1.25   >272_000:2/7.5/0.1/2.5
openai/gpt-6-sol             1_050_000  128_000  1_024    low,medium,high,xhigh,max  effort    images,tools             2      10      0.2    2.5    >272_000:4/15/0.4/5
openai/gpt-6-luna            1_050_000  128_000  1_024    low,medium,high,xhigh,max  effort    images,tools             0.1    0.5     0.01   0.125  >272_000:0.2/0.75/0.02/0.25
openai/gpt-5.6-sol           1_050_000  128_000  1_024    low,medium,high,xhigh,max  effort    images,tools             5      30      0.5    6.25   >272_000:10/45/1/12.5
openai/gpt-5.6               1_050_000  128_000  1_024    low,medium,high,xhigh,max  effort    images,tools             5      30      0.5    6.25   >272_000:10/45/1/12.5
openai/gpt-5.6-terra         1_050_000  128_000  1_024    low,medium,high,xhigh,max  effort    images,tools             2      12      0.2    2.5    >272_000:4/18/0.4/5
openai/gpt-5.6-luna          1_050_000  128_000  1_024    low,medium,high,xhigh,max  effort    images,tools             0.2    1.2     0.02   0.25   >272_000:0.4/1.8/0.04/0.5
openai/gpt-5.4               400_000    128_000  1_024    low,medium,high,xhigh      effort    images,tools             2.5    15      0.25   2.5    >272_000:5/22.5/0.5/5
openai/gpt-5.4-mini          400_000    128_000  1_024    low,medium,high,xhigh      effort    images,tools             0.75   4.5     0.075  0.75   -
openai/gpt-5.2               400_000    128_000  1_024    low,medium,high,xhigh      effort    images,tools             1.75   14      0.175  1.75   -
openai/gpt-5.1               400_000    128_000  1_024    low,medium,high            effort    images,tools             1.25   10      0.125  1.25   -                            # OpenAI shuts it down on 2027-04-01. Use gpt-6-sol.
openai/gpt-5                 400_000    128_000  1_024    low,medium,high            effort    images,tools             1.25   10      0.125  1.25   -                            # OpenAI shuts it down on 2026-12-11. Use gpt-5.6-sol.
openai/gpt-5-mini            400_000    128_000  1_024    low,medium,high            effort    images,tools             0.25   2       0.025  0.25   -                            # OpenAI shuts it down on 2026-12-11. Use gpt-5.6-terra.
openai/gpt-5-nano            400_000    128_000  1_024    low,medium,high            effort    images,tools             0.05   0.4     0.005  0.05   -                            # OpenAI shuts it down on 2026-12-11. Use gpt-5.6-luna.
gemini/gemini-4-argon        1_048_576  65_536   4_096    low,medium,high            always    images,tools             4      20      0.2    4      -                            # Until 2026-11-30, Google charges half of these prices.
gemini/gemini-3.8-flash      1_048_576  65_536   4_096    low,medium,high            always    images,tools             1.5    7.5     0.15   1.5    -                            # Until 2026-12-31, Google charges half of these prices.
`;

/** Names that people use for models, elsewhere too, and the tier or model that they stand for. */
export const aliases = `
name      means             # note
haiku     small
sonnet    medium
opus      large
best      large
default   medium
opusplan  medium            # Elsewhere, "opusplan" means the large model for plans and the medium one for everything else. Retinue uses the medium one. Write "medium", or "large" in an agent that only plans.
fable     claude-fable-5-2
`;

/** Models that their provider no longer serves, the day of their retirement, and the tier to use instead. */
export const retired = `
model                        retired     use
anthropic/claude-opus-4-1    2026-08-05  large
anthropic/claude-opus-4      2026-06-15  large
anthropic/claude-opus-4-0    2026-06-15  large
anthropic/claude-sonnet-4    2026-06-15  medium
anthropic/claude-sonnet-4-0  2026-06-15  medium
anthropic/claude-3-7-sonnet  2026-02-19  medium
anthropic/claude-3-5-sonnet  2025-10-28  medium
anthropic/claude-3-5-haiku   2026-02-19  small
anthropic/claude-3-opus      2026-01-05  large
anthropic/claude-3-sonnet    2025-07-21  medium
anthropic/claude-3-haiku     2026-04-20  small
anthropic/claude-2-1         2025-07-21  medium
anthropic/claude-2-0         2025-07-21  medium
openai/gpt-5.2-codex         2026-07-23  medium
openai/gpt-5.1-codex         2026-07-23  medium
openai/gpt-5.1-codex-max     2026-07-23  large
openai/gpt-5.1-codex-mini    2026-07-23  small
openai/gpt-5-codex           2026-07-23  medium
openai/gpt-4.1-nano          2026-10-23  small
openai/gpt-4-turbo           2026-10-23  medium
openai/gpt-4                 2026-10-23  medium
openai/gpt-3.5-turbo         2026-10-23  small
openai/o4-mini               2026-10-23  small
openai/o3-mini               2026-10-23  small
openai/o1                    2026-10-23  large
openai/o1-pro                2026-10-23  large
`;

export type Ability = "images" | "tools" | "compaction";
export type ThinkingKind = "always" | "adaptive" | "effort" | "budget" | "none";

export interface KnownModel {
  /** Size of the context window in tokens, including the output. */
  readonly window: number;
  readonly maxOutputTokens: number;
  readonly prices: Prices;
  /** Minimum number of tokens that the provider caches. */
  readonly cacheMinimumTokens: number;
  /** Effort levels, lowest first. */
  readonly efforts: readonly Effort[];
  readonly thinking: ThinkingKind;
  readonly can: readonly Ability[];
  readonly note?: string | undefined;
}

/** Looks up a model under the name of its own provider, because a gateway sells the same model at a different price. */
export function knownModel(provider: string, model: string): KnownModel | undefined {
  const line = lineOf(models, `${provider}/${withoutDate(model)}`);
  return line === undefined ? undefined : parseModel(line);
}

/** Returns the ids of a provider's models. */
export function modelsOfTable(provider: string): readonly string[] {
  return namesIn(models).flatMap((name) => (name.startsWith(`${provider}/`) ? [name.slice(provider.length + 1)] : []));
}

/** Returns the names in the first column of a table. */
export function namesIn(table: string): readonly string[] {
  return linesOf(table).map(({ name }) => name);
}

export function isInTable(provider: string): boolean {
  return models.includes(`\n${provider}/`);
}

/** Describes the name of a tier or another alias. */
export function aliasOf(name: string): { readonly means: string; readonly note?: string | undefined } | undefined {
  const line = lineOf(aliases, name.toLowerCase());
  return line && { means: line.cells[0] ?? "", note: line.note };
}

/** Describes the retirement of a model; undefined if it is not known to be retired. */
export function retirementOf(
  provider: string,
  model: string,
): { readonly since: string; readonly use: ModelTier } | undefined {
  const [since = "", use] = lineOf(retired, `${provider}/${withoutDate(model)}`)?.cells ?? [];
  return use === undefined ? undefined : { since, use: use as ModelTier };
}

/** Returns the id of a model without its date. */
export function withoutDate(model: string): string {
  return model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|latest)$/, "");
}

const afterHeader = 1;

interface Line {
  readonly name: string;
  readonly cells: readonly string[];
  readonly note?: string | undefined;
}

function lineOf(table: string, name: string): Line | undefined {
  const start = table.indexOf(`\n${name} `, afterHeader);
  return start === -1 || /\s/.test(name)
    ? undefined
    : parseLine(table.slice(start + 1, table.indexOf("\n", start + 1)));
}

/** Returns all lines below the header. */
function linesOf(table: string): readonly Line[] {
  return table.trim().split("\n").slice(1).map(parseLine);
}

function parseLine(line: string): Line {
  const [text = "", note] = line.split(" # ");
  const [name = "", ...cells] = text.trim().split(/ +/);
  return { name, cells, note };
}

function parseModel({ cells, note }: Line): KnownModel {
  const [window, output, minimum, efforts, thinking, can, ...prices] = cells;
  const rates = prices.slice(0, 4);
  const longPrompts = prices.slice(4).flatMap(parseLongPrompts);
  return {
    window: numberOf(window),
    maxOutputTokens: numberOf(output),
    prices: longPrompts.length === 0 ? parseRates(rates) : { ...parseRates(rates), longPrompts },
    cacheMinimumTokens: numberOf(minimum),
    efforts: listOf(efforts) as readonly Effort[],
    thinking: thinking as ThinkingKind,
    can: listOf(can) as readonly Ability[],
    note,
  };
}

function parseLongPrompts(cell: string): readonly LongPromptPrices[] {
  const [above = "", rates = ""] = cell.split(":");
  return cell === "-" ? [] : [{ above: numberOf(above.slice(1)), ...parseRates(rates.split("/")) }];
}

function parseRates([input, output, cacheRead, cacheWrite]: readonly string[]): TokenPrices {
  return {
    input: numberOf(input),
    output: numberOf(output),
    cacheRead: numberOf(cacheRead),
    cacheWrite: numberOf(cacheWrite),
  };
}

function numberOf(cell = ""): number {
  return Number(cell.replaceAll("_", ""));
}

function listOf(cell = "-"): readonly string[] {
  return cell === "-" ? [] : cell.split(",");
}
