import { cacheCommands, deleteSession, listSessions, readTranscript, stateDirectory } from "../../../app/index.ts";
import { plural } from "../../../lib/index.ts";
import { type Line, MAIN_AGENT } from "../../../protocol/index.ts";
import type { Command } from "../../command.ts";
import { sessionByPrefix } from "../../find-session.ts";
import { createOutput } from "../../output.ts";
import { readAgentFiles } from "../../progress/agent-transcripts.ts";
import { realDirectory } from "../../real-directory.ts";
import { renderReport } from "../cache-render.ts";
import { confirm } from "../confirm.ts";
import { agentByPrefix, agentsOf } from "./agent-tree.ts";
import { renderAgents } from "./render-agents.ts";
import { renderSessions } from "./render-sessions.ts";
import { renderTranscript } from "./transcript.ts";

type SessionsCommand = Extract<Command, { kind: `sessions.${string}` }>;

/** `retinue sessions list|show|export|delete`. */
export async function sessions(command: SessionsCommand): Promise<number> {
  const home = stateDirectory(process.env);
  const output = createOutput(process.stdout, () => undefined);
  if (command.kind === "sessions.list") await output.write(list(command, home));
  else if (command.kind === "sessions.show") await output.write(await show(command, home));
  else if (command.kind === "sessions.export") {
    for (const part of exported(command, home)) await output.write(part);
  } else await output.write(await remove(command, home));
  return 0;
}

function list({ all, json, cwd }: Extract<Command, { kind: "sessions.list" }>, home: string): string {
  const directory = realDirectory(cwd ?? ".");
  const found = listSessions(all ? { home } : { home, cwd: directory });
  if (json) return `${JSON.stringify(found, null, 2)}\n`;
  if (found.length > 0) return renderSessions(found, { all, now: Date.now(), columns: process.stdout.columns || 0 });
  const where = all ? "anywhere" : `of ${directory}`;
  return `There are no sessions ${where} yet.${all ? "" : ' "retinue sessions list --all" looks everywhere.'}\n`;
}

async function show({ id, agent, json }: Extract<Command, { kind: "sessions.show" }>, home: string): Promise<string> {
  const session = sessionByPrefix({ home, prefix: id });
  const files = readAgentFiles(session.path);
  if (agent !== undefined && agent !== MAIN_AGENT) {
    const { agentId, lines, problems } = agentByPrefix(files, agent);
    if (json) return jsonLines(lines);
    return renderTranscript(lines, { id: `${session.id}/${agentId}`, problems });
  }
  const { lines, problems } = readTranscript(session.path);
  if (json) return jsonLines(lines);
  const transcript = renderTranscript(lines, { id: session.id, problems: problems.map(({ message }) => message) });
  return `${transcript}${renderAgents(agentsOf(files), session)}${await cacheSection(session.path)}`;
}

/** Empty where no model has answered, and where the transcripts are too damaged to tell. */
async function cacheSection(path: string): Promise<string> {
  const { reportCache } = await cacheCommands();
  const report = await reportCache(path).catch(() => undefined);
  return report === undefined || report.total.requests === 0 ? "" : `\n${renderReport(report)}`;
}

/** Every recorded line, each with whose it is; a part for each agent. */
function* exported({ id }: Extract<Command, { kind: "sessions.export" }>, home: string): Iterable<string> {
  const { path } = sessionByPrefix({ home, prefix: id });
  const whose = (agent: string) => (line: Line) => ({ agent, ...exportedLine(line) });
  yield jsonLines(readTranscript(path).lines.map(whose(MAIN_AGENT)));
  for (const { agentId, lines } of readAgentFiles(path)) yield jsonLines(lines.map(whose(agentId)));
}

/** A compaction has the shape that readers of other transcripts look for, with all that was recorded of it. */
function exportedLine(line: Line): object {
  if (line.type !== "conversation.compacted") return line;
  const { type: _, trigger, before, ...rest } = line;
  const compactMetadata = { trigger, ...(before === undefined ? {} : { preTokens: before }) };
  return { ...rest, type: "system", subtype: "compact_boundary", compactMetadata };
}

function jsonLines(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

async function remove({ ids, yes }: Extract<Command, { kind: "sessions.delete" }>, home: string): Promise<string> {
  const chosen = ids.map((prefix) => sessionByPrefix({ home, prefix }));
  const names = chosen.map(({ id, firstPrompt }) => `${id}  ${firstPrompt ?? ""}`.trimEnd());
  if (!yes && !(await confirm(`${names.join("\n")}\nDelete for good?`))) return "Nothing was deleted.\n";
  for (const { project, id } of chosen) deleteSession({ home, project, sessionId: id });
  return `Deleted ${plural(chosen.length, "session")}.\n`;
}
