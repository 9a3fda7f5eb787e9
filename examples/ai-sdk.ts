// Lets one model of the AI SDK make a plan and another one carry it out, in one session and within one limit in dollars.
import { createAnthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { openSession } from "retinue";
import { fromAiSdk } from "retinue/ai-sdk";

const task = process.argv[2] ?? "Make priceOf throw an error for unknown products.";
const anthropic = createAnthropic({ baseURL: process.env["ANTHROPIC_API_URL"] ?? "https://api.anthropic.com/v1" });
const planner = fromAiSdk(anthropic("claude-opus-5-5"), {
  window: 1_000_000,
  maxOutputTokens: 128_000,
  prices: { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
  providerOptions: { anthropic: { thinking: { type: "adaptive", display: "summarized" } } },
});
const worker = fromAiSdk(openai("gpt-6.2-sol"), {
  window: 1_050_000,
  maxOutputTokens: 128_000,
  prices: { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
  providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
});

const session = await openSession({ model: planner, permissionMode: "acceptEdits", settings: { budget: { usd: 1 } } });
const plan = await session.prompt(`Read what you need, and write a short plan. Do not edit yet. The task: ${task}`)
  .result;
console.log(`Plan: ${plan.text}`);
await session.setModel(worker);
const result = await session.prompt("Carry out the plan.").result;
console.log(result.outcome, result.text, result.facts.filesChanged.join(", "));
for (const notice of session.notices) console.error(notice);
await session.close();
process.exitCode = result.outcome === "succeeded" ? 0 : 1;
