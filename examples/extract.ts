// Extracts structured data from all text files in a directory, four at a time, within one budget for all of them.
import { readdir } from "node:fs/promises";
import { openSession } from "retinue";
import { z } from "zod";

const [directory = "invoices", budget = "1"] = process.argv.slice(2);
const output = z.object({ customer: z.string(), total: z.number() });
const extractor = { description: "Extracts data from files.", prompt: "You extract data.", tools: ["Read"] };
const session = await openSession({
  agents: { extractor },
  settings: { budget: { usd: Number(budget) } },
});
const files = (await readdir(directory)).filter((name) => name.endsWith(".txt")).sort();
let sum = 0;
const problems: string[] = [];

async function extract(file: string): Promise<void> {
  const agent = await session.subagents.start("extractor", `Read ${directory}/${file} and extract the invoice.`, {
    output,
  });
  const result = await agent.result;
  if (result.output) sum += result.output.total;
  else problems.push(`${file}: ${result.message}`);
}

async function work(): Promise<void> {
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    // Fails if the budget does not allow another agent.
    await extract(file).catch((error) => problems.push(`${file}: ${error.message}`));
  }
}
await Promise.all([work(), work(), work(), work()]);
const { costUsd } = await session.spent();
console.log(`total ${sum}, ${problems.length} problems, $${costUsd.toFixed(2)}`);
for (const problem of problems.sort()) console.log(problem);
await session.close();
