// Updates the table of known models from a file in the format of https://models.dev/api.json, and prints what changed:
// `node scripts/update-models.mjs FILE [--add PROVIDER/MODEL]... [--check]`.
//   --add     also add this model from the file
//   --check   write nothing; fail if the table would change
// The file has no column for the smallest prompt that is cached, the kind of thinking or compaction, and our notes are our
// own: these are kept, as are models and values that the file lacks. Aliases and retired models are not touched.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const target = "src/model/providers/model-table.ts";
const path = join(resolve(import.meta.dirname, ".."), target);
const efforts = ["low", "medium", "high", "xhigh", "max"];

const { values, positionals } = readArguments();
const catalog = readCatalog(positionals[0]);
const source = readFileSync(path, "utf8");
const [block, text] = /export const models = `\n([^`]*)`;/.exec(source) ?? stop(`${target} has no table of models.`);
const [header, ...rows] = text.trimEnd().split("\n").map(parseRow);
const changes = [];
/** Providers that have another name in the file. */
const namesThere = { gemini: "google" };

for (const name of values.add ?? []) addRow(name);
const updated = rows.map(updateRow);
const result = source.replace(block, () => `export const models = \`\n${render([header, ...updated])}\`;`);
reportOthers();
console.log(changes.length === 0 ? "The table is up to date." : changes.join("\n"));
if (result !== source && values.check) stop(`${target} is out of date.`);
if (result !== source) writeFileSync(path, result);

function readArguments() {
  const options = { add: { type: "string", multiple: true }, check: { type: "boolean" } };
  try {
    const given = parseArgs({ options, allowPositionals: true });
    if (given.positionals.length === 1) return given;
  } catch {
    // The message below shows which arguments are valid.
  }
  return stop("Usage: node scripts/update-models.mjs FILE [--add PROVIDER/MODEL]... [--check]");
}

function readCatalog(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return stop(`${file} can't be read as JSON: ${error.message}`);
  }
}

function parseRow(line) {
  const [cells, note = ""] = line.split(" # ");
  const [name, window, output, minimum, efforts, thinking, can, input, ...rest] = cells.trim().split(/ {2,}/);
  const [out, read, write, long] = rest;
  return { name, window, output, minimum, efforts, thinking, can, input, out, read, write, long, note };
}

function render(all) {
  const lines = all.map(({ note, ...cells }) => [...Object.values(cells), note === "" ? "" : `# ${note}`]);
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column]))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function addRow(name) {
  if (rows.some((row) => row.name === name)) stop(`${name} is already in the table.`);
  if (!entryOf(name)?.cost || !entryOf(name)?.limit) stop(`The file has no model ${name} with prices and limits.`);
  const provider = name.slice(0, name.indexOf("/") + 1);
  const place = rows.findIndex((row) => row.name.startsWith(provider));
  if (place === -1)
    stop(`The table has no models of ${provider.slice(0, -1)}, and Retinue does not know this provider.`);
  const { minimum, thinking } = rows[place];
  const note = "The smallest prompt that is cached and the kind of thinking are guesses.";
  rows.splice(place, 0, { name, ...empty(), minimum, thinking, note });
}

function empty() {
  const unknown = { window: "0", output: "0", minimum: "0", efforts: "-", thinking: "none", can: "-" };
  return { ...unknown, ...prices(["0", "0", "0", "0"]), long: "-" };
}

function prices([input, out, read, write]) {
  return { input, out, read, write };
}

function entryOf(name) {
  const slash = name.indexOf("/");
  const provider = name.slice(0, slash);
  return catalog[namesThere[provider] ?? provider]?.models?.[name.slice(slash + 1)];
}

function updateRow(row) {
  const entry = entryOf(row.name);
  if (entry === undefined) {
    changes.push(`${row.name}: not in the file, so it stays as it is`);
    return row;
  }
  const { cost, limit, status } = entry;
  if (status === "deprecated") changes.push(`${row.name}: deprecated. Add a note, or move it to the retired models`);
  const next = {
    ...row,
    window: limit?.context ? count(limit.context) : row.window,
    output: limit?.output ? count(limit.output) : row.output,
    efforts: effortsOf(entry) ?? row.efforts,
    thinking: entry.reasoning === false ? "none" : row.thinking,
    can: abilitiesOf(entry, row) ?? row.can,
    ...(cost ? pricesOf(cost, row) : {}),
  };
  const labels = {
    out: "output price",
    input: "input price",
    read: "cache read",
    write: "cache write",
    long: "long prompts",
  };
  for (const [key, value] of Object.entries(next))
    if (value !== row[key]) changes.push(`${row.name}: ${labels[key] ?? key} ${row[key]} → ${value}`);
  return next;
}

function effortsOf({ reasoning_options: options }) {
  const levels = options?.find(({ type }) => type === "effort")?.values;
  if (options === undefined) return undefined;
  return efforts.filter((level) => levels?.includes(level)).join(",") || "-";
}

function abilitiesOf({ modalities, tool_call: tools }, row) {
  if (modalities?.input === undefined) return undefined;
  const compaction = row.can.split(",").includes("compaction");
  const can = { images: modalities.input.includes("image"), tools: tools?.supported ?? tools, compaction };
  return (
    Object.keys(can)
      .filter((ability) => can[ability])
      .join(",") || "-"
  );
}

function pricesOf(cost, row) {
  const base = ratesOf(cost, row.input === price(cost.input) ? row : undefined);
  const bands = (cost.tiers ?? []).filter(({ tier }) => tier?.size && (tier.type ?? "context") === "context");
  const over = cost.context_over_200k;
  const all = bands.length > 0 || over === undefined ? bands : [{ ...over, tier: { size: 200_000 } }];
  // A band without cache prices has the same discounts as short prompts.
  const scaled = (rate, { input }) => price((rate / base.input) * input);
  const long = all
    .sort((one, other) => one.tier.size - other.tier.size)
    .map((band) => ({ band, ours: { read: scaled(base.read, band), write: scaled(base.write, band) } }))
    .map(({ band, ours }) => `>${count(band.tier.size)}:${Object.values(ratesOf(band, ours)).join("/")}`);
  // Files of this format often lack long prompts. Leaving ours out would undercount.
  const isSame = row.long !== "-" && base.input === row.input && base.out === row.out;
  return { ...base, long: long.join(" ") || (isSame ? row.long : "-") };
}

/** Returns the four prices. A cache price that is missing is `ours`, if there is one, or else that of the input. */
function ratesOf({ input, output, cache_read: read, cache_write: write }, ours) {
  const plain = price(input);
  return prices([plain, price(output), price(read) ?? ours?.read ?? plain, price(write) ?? ours?.write ?? plain]);
}

function price(number) {
  return number === undefined ? undefined : String(Math.round(number * 1e6) / 1e6);
}

/** Writes a number of tokens with separators, as in TypeScript. */
function count(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "_");
}

/** Names models in the file that the table lacks, newest first, of providers in the table. */
function reportOthers() {
  const known = new Set(rows.map(({ name }) => name));
  const providers = new Set(rows.map(({ name }) => name.slice(0, name.indexOf("/"))));
  const others = [...providers].flatMap((provider) =>
    Object.entries(catalog[provider]?.models ?? {})
      .filter(
        ([id, { tool_call: tools }]) =>
          tools && !known.has(`${provider}/${id.replace(/-\d{8}$|-\d{4}-\d{2}-\d{2}$/, "")}`),
      )
      .map(([id, { release_date: date = "" }]) => ({ name: `${provider}/${id}`, date })),
  );
  for (const { name } of others.sort((one, other) => other.date.localeCompare(one.date)).slice(0, 10))
    console.log(`not in the table: ${name} (--add ${name})`);
}

function stop(message) {
  console.error(`update-models: ${message}`);
  process.exit(1);
}
