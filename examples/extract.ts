// Extracts structured data from all text files in a directory, four at a time, until the budget is used up.
import { readdir } from "node:fs/promises";
import { run } from "retinue";
import { z } from "zod";

const [directory = "invoices", budget = "1"] = process.argv.slice(2);
const output = z.object({ customer: z.string(), total: z.number() });
const files = (await readdir(directory)).filter((name) => name.endsWith(".txt")).sort();
const limit = Number(budget);
let spent = 0;
let sum = 0;
const problems: string[] = [];

async function work(): Promise<void> {
  for (let file = files.shift(); file !== undefined && spent < limit; file = files.shift()) {
    const prompt = `Read ${directory}/${file} and extract the invoice.`;
    const settings = { budget: { usd: limit - spent } };
    const result = await run(prompt, { systemPrompt: "You extract data.", allowedTools: ["Read"], settings, output });
    spent += result.costUsd ?? 0;
    if (result.output) sum += result.output.total;
    else problems.push(`${file}: ${result.message}`);
  }
}
await Promise.all([work(), work(), work(), work()]);
console.log(`total ${sum}, ${problems.length} problems, ${files.length} files left, $${spent.toFixed(2)}`);
for (const problem of problems) console.log(problem);
