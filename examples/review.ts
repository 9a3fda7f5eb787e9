// Reviews the last commit with three agents in parallel, for a CI job. Exits with 1 if one of them found a blocker.
import { defineAgent, run } from "retinue";
import { z } from "zod";

const reviewer = (focus: string) =>
  defineAgent({
    description: `Reviews changes for ${focus}. Use when asked. Does not edit.`,
    prompt: `You review changes for ${focus}. Report each finding with its path and line, or that there is none.`,
    tools: ["Read", "Grep", "Glob", "Bash(git diff *)"],
  });
const output = z.object({
  findings: z.array(
    z.object({ file: z.string(), line: z.number(), severity: z.enum(["blocker", "minor"]), text: z.string() }),
  ),
});
const result = await run(
  "Have the agents correctness, security and tests review `git diff HEAD~1`, all at the same time. Merge their findings.",
  {
    agents: {
      correctness: reviewer("bugs"),
      security: reviewer("security problems"),
      tests: reviewer("missing tests"),
    },
    disallowedTools: ["Edit", "Write"],
    settings: { budget: { usd: 2 } },
    output,
  },
);
if (result.output === undefined) {
  console.error(result.outcome, result.message);
  process.exit(2);
}
const { findings } = result.output;
for (const { file, line, severity, text } of findings) console.log(`${file}:${line}: ${severity}: ${text}`);
process.exitCode = findings.some(({ severity }) => severity === "blocker") ? 1 : 0;
