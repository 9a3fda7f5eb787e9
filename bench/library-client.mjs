// A program that uses the library for one run. Usage: node library-client.mjs URL PROMPT
import { run } from "../dist/esm/index.js";

const [, prompt] = process.argv.slice(2);
const { outcome, text } = await run(prompt, { model: "anthropic/bench-model", maxTurns: 9999 });
if (outcome !== "succeeded") throw new Error(`The run ended as ${outcome}.`);
process.stdout.write(`${text}\n`);
