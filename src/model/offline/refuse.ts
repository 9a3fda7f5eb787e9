import type { Job } from "./job.ts";
import { clip } from "./report.ts";

/** Says what it can't do and what it can. No calls, so nothing is ever asked. */
// biome-ignore lint/correctness/useYield: a job that needs nothing
export function* refuse(text: string): Job {
  const asked = text === "" ? "Nothing was asked." : `I can't do this: "${clip(text, 200)}"`;
  return { kind: "refusal", text: `${asked}\n\n${explanation}` };
}

const explanation = `This is Retinue's offline model, not a language model: it writes no text or code of its own and changes nothing.
For a language model set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use a local server: \`retinue -p … --provider ollama --model NAME\`.

What it can do, with the tools and without a network:
- map a repository                 "Map this repository"
- find definitions and usages      "Where is parseConfig defined?", "Who calls parseConfig?"
- summarise a file or a directory  "Summarise src/main.ts", "What does src/lib do?"
- tell the recent git history      "What changed recently?", "Last 20 commits"
- list, read, search               "List files in docs", "Read README.md", "Search for 'timeout'"
`;
