// The main agent reads the code once. Its forks continue from there, each with one question, and read the provider's
// prompt cache instead of the code.
import { openSession } from "retinue";

await using session = await openSession({ settings: { fork: "on" } });
await session.prompt("Read src/cart.js and src/price.js.").result;
const { text } = await session.prompt(
  "Start two forks of yourself at once: one lists missing tests, the other possible bugs. Then summarize.",
).result;
console.log(text);
for (const { agentType, description, end } of await session.subagents.list()) {
  const { cacheReadTokens = 0, inputTokens = 0, cacheWriteTokens = 0 } = end?.usage ?? {};
  const share = cacheReadTokens / (cacheReadTokens + inputTokens + cacheWriteTokens);
  console.log(`${agentType} ${description}: ${Math.round(share * 100)} % of its input came from the cache`);
}
