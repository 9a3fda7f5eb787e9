import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { knownModel, modelsOfTable } from "../../src/model/providers/model-table.ts";
import type { TokenPrices } from "../../src/protocol/index.ts";
import { createHouse, type Finished, type House, root } from "./temporary-house.ts";

const table = "src/model/providers/model-table.ts";
const before = readFileSync(join(root, table), "utf8");

let house: House;
beforeEach(async () => {
  house = await createHouse({ [table]: before });
});
afterEach(() => house.remove());

type Entry = ReturnType<typeof entryOf>;
type Catalog = Readonly<Record<string, { readonly models: Record<string, Entry> }>>;

/** Returns the table's models in the format of models.dev. */
function ownCatalog(): Catalog {
  const models = (provider: string) =>
    Object.fromEntries(modelsOfTable(provider).map((model) => [model, entryOf(provider, model)]));
  return {
    anthropic: { models: models("anthropic") },
    openai: { models: models("openai") },
    google: { models: models("gemini") },
  };
}

function entryOf(provider: string, id: string) {
  const known = knownModel(provider, id);
  if (known === undefined) throw new Error(`${id} is not in the table`);
  const { longPrompts = [], ...prices } = known.prices;
  const tiers = longPrompts.map(({ above, ...rates }) => ({
    ...costOf(rates),
    tier: { type: "context", size: above },
  }));
  return {
    id,
    release_date: "2026-09-01",
    tool_call: known.can.includes("tools"),
    reasoning: known.thinking !== "none",
    modalities: { input: known.can.includes("images") ? ["text", "image", "pdf"] : ["text"], output: ["text"] },
    reasoning_options: [
      known.efforts.length > 0 ? { type: "effort", values: ["none", ...known.efforts] } : { type: "budget_tokens" },
    ],
    limit: { context: known.window, output: known.maxOutputTokens },
    cost: { ...costOf(prices), ...(tiers.length > 0 ? { tiers } : {}) },
  };
}

function costOf({ input, output, cacheRead, cacheWrite }: TokenPrices) {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}

async function update(catalog: object, ...options: string[]): Promise<Finished & { readonly table: string }> {
  await house.write({ "api.json": JSON.stringify(catalog) });
  const ended = await house.run("update-models.mjs", join(house.directory, "api.json"), ...options);
  return { ...ended, table: await readFile(join(house.directory, table), "utf8") };
}

/** Returns a model as the updated table describes it. */
async function updated(provider: string, model: string): Promise<ReturnType<typeof knownModel>> {
  return (await import(`${pathToFileURL(join(house.directory, table)).href}?${model}`)).knownModel(provider, model);
}

describe("scripts/update-models.mjs", () => {
  it("changes nothing if the file says the same", async () => {
    expect(await update(ownCatalog())).toEqual({
      code: 0,
      stdout: "The table is up to date.\n",
      stderr: "",
      table: before,
    });
  });

  it("prints and writes what changed, keeps what is ours, and changes nothing the second time", async () => {
    const catalog = ownCatalog();
    const { "claude-haiku-5-5": haiku, "claude-opus-5-5": opus } = catalog["anthropic"]?.models ?? {};
    const gpt = catalog["openai"]?.models["gpt-6.2-sol"];
    if (!haiku || !opus || !gpt) throw new Error("A model that this test changes is missing.");
    const band = (size: number, input: number) => ({ input, output: 5 * input, tier: { type: "context", size } });
    Object.assign(haiku, { cost: { ...haiku.cost, tiers: [band(500_000, 0.8), band(200_000, 0.4)] } });
    Object.assign(opus, { limit: { context: 2_000_000, output: 64_000 }, modalities: { input: ["text"] } });
    Object.assign(gpt, { cost: { input: 2, output: 9, context_over_200k: { input: 4, output: 15, cache_read: 0.4 } } });
    const first = await update(catalog, "--check");
    expect([first.code, first.table]).toEqual([1, before]);
    expect(first.stderr).toContain(`${table} is out of date`);
    const second = await update(catalog);
    expect([second.code, second.stdout]).toEqual([0, first.stdout]);
    expect(second.stdout.split("\n")).toEqual([
      "anthropic/claude-opus-5-5: window 1_000_000 → 2_000_000",
      "anthropic/claude-opus-5-5: output 128_000 → 64_000",
      "anthropic/claude-opus-5-5: can images,tools,compaction → tools,compaction",
      "anthropic/claude-haiku-5-5: long prompts >100_000:0.5/2.5/0.05/0.625 → >200_000:0.4/2/0.04/0.5 >500_000:0.8/4/0.08/1",
      "openai/gpt-6.2-sol: output price 10 → 9",
      "openai/gpt-6.2-sol: long prompts >272_000:4/15/0.4/5 → >200_000:4/15/0.4/5",
      "",
    ]);
    expect(await update(catalog)).toMatchObject({ stdout: "The table is up to date.\n", table: second.table });

    const lines = (text: string) => text.replaceAll(/ +/g, " ").split("\n");
    const old = lines(before);
    expect(lines(second.table).filter((line) => !old.includes(line))).toHaveLength(3);
    expect(await updated("anthropic", "claude-opus-5-5")).toMatchObject({ window: 2_000_000, cacheMinimumTokens: 512 });
    expect((await updated("anthropic", "claude-haiku-5-5"))?.prices.longPrompts).toEqual([
      { above: 200_000, input: 0.4, output: 2, cacheRead: 0.04, cacheWrite: 0.5 },
      { above: 500_000, input: 0.8, output: 4, cacheRead: 0.08, cacheWrite: 1 },
    ]);
    expect(await updated("openai", "gpt-6.2-sol")).toMatchObject({
      prices: { input: 2, output: 9, cacheRead: 0.2, cacheWrite: 2.5 },
      note: knownModel("openai", "gpt-6.2-sol")?.note,
    });
  });

  it("keeps models and values that the file lacks, and says which", async () => {
    const { cost: _, reasoning_options: __, modalities: ___, ...entry } = entryOf("anthropic", "claude-haiku-5-5");
    const sparse = { anthropic: { models: { "claude-haiku-5-5": entry } } };
    const { stdout, table: after } = await update(sparse);
    expect(after).toBe(before);
    expect(stdout).toContain("anthropic/claude-opus-5-5: not in the file, so it stays as it is");
    expect(stdout).not.toContain("claude-haiku-5-5");
  });

  it("names models that the table lacks, and adds those that are asked for", async () => {
    const catalog = ownCatalog();
    const next = { ...entryOf("anthropic", "claude-opus-5-5"), cost: { input: 6, output: 30 } };
    Object.assign(catalog["anthropic"]?.models ?? {}, { "claude-opus-6": next, "claude-opus-5-5-20260922": next });
    const told = await update(catalog);
    expect(told.stdout).toBe(
      "not in the table: anthropic/claude-opus-6 (--add anthropic/claude-opus-6)\nThe table is up to date.\n",
    );
    const added = await update(catalog, "--add", "anthropic/claude-opus-6");
    expect(added.stdout).toContain("anthropic/claude-opus-6: input price 0 → 6");
    expect(await updated("anthropic", "claude-opus-6")).toMatchObject({
      thinking: "always",
      window: 1_000_000,
      prices: { input: 6, output: 30, cacheRead: 6, cacheWrite: 6 },
    });
    expect((await update(catalog, "--add", "anthropic/claude-opus-6")).stderr).toContain("is already in the table");
    expect((await update(catalog)).table).toBe(added.table);
  });

  it("says what is wrong with its arguments and its file", async () => {
    expect((await house.run("update-models.mjs")).stderr).toContain("Usage: node scripts/update-models.mjs FILE");
    expect((await house.run("update-models.mjs", "missing.json")).stderr).toContain(
      "missing.json can't be read as JSON",
    );
    const { code, stderr } = await update({}, "--add", "anthropic/claude-opus-9");
    expect([code, stderr]).toEqual([1, expect.stringContaining("The file has no model anthropic/claude-opus-9")]);
  });
});
