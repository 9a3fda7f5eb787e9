import { type AgentCheck, agentCommands } from "../../../app/index.ts";
import { plural } from "../../../lib/index.ts";
import type { Command } from "../../command.ts";
import { exitCodes } from "../../exit-codes.ts";
import type { Output } from "../../output.ts";
import { realDirectory } from "../../real-directory.ts";
import { renderDiagnostics } from "../diagnostics.ts";

/** `retinue agents check`: what is written leaves while the next files are read. */
export async function checkFiles(
  { paths, jsonl }: Extract<Command, { kind: "agents.check" }>,
  output: Output,
): Promise<number> {
  const { checkAgents, definitionDirectories } = await agentCommands();
  const here = { cwd: realDirectory("."), environment: process.env };
  const chosen = paths.length > 0 ? paths : definitionDirectories(here);
  const counts = { agent: 0, skill: 0, failed: 0, other: 0 };
  let waiting = "";
  for await (const checked of checkAgents(chosen)) {
    if (checked.loaded) counts[checked.kind] += 1;
    else counts[checked.failed ? "failed" : "other"] += 1;
    waiting += jsonl ? `${JSON.stringify(lineOf(checked))}\n` : reportOf(checked);
    if (waiting.length < chunk) continue;
    await output.write(waiting);
    waiting = "";
  }
  await output.write(waiting + (jsonl ? "" : summary(counts)));
  return counts.failed > 0 ? exitCodes.failed : exitCodes.succeeded;
}

type Counts = Readonly<Record<"agent" | "skill" | "failed" | "other", number>>;

const chunk = 64 * 1024;

function lineOf({ failed: _, diagnostics, ...checked }: AgentCheck): object {
  return { ...checked, diagnostics: diagnostics.map(({ file: _file, ...diagnostic }) => diagnostic) };
}

/** A text beside the definitions is no news. */
function reportOf({ file, loaded, failed, diagnostics }: AgentCheck): string {
  if (!loaded && !failed) return "";
  return renderDiagnostics(diagnostics.map((each) => ({ ...each, file })));
}

function summary({ agent, skill, failed, other }: Counts): string {
  const sentences = [
    `${plural(agent, "agent")} and ${plural(skill, "skill")} load.`,
    ...(failed === 0 ? [] : [`${plural(failed, "file")} ${failed === 1 ? "does" : "do"} not.`]),
    ...(other === 0 ? [] : [`${plural(other, "other file")} ${other === 1 ? "defines" : "define"} nothing.`]),
  ];
  return `${sentences.join(" ")}\n`;
}
