import { deleteSession, listSessions, readTranscript, stateDirectory } from "../app/index.ts";
import { plural } from "../lib/index.ts";
import { sessionByPrefix } from "./choose-session.ts";
import type { Command } from "./command.ts";
import { confirm } from "./confirm.ts";
import { createOutput } from "./output.ts";
import { realDirectory } from "./real-directory.ts";
import { renderSessions } from "./render-sessions.ts";
import { renderTranscript } from "./render-transcript.ts";

type SessionsCommand = Extract<Command, { kind: `sessions.${string}` }>;

/** `retinue sessions list|show|delete`. */
export async function sessions(command: SessionsCommand): Promise<number> {
  const home = stateDirectory(process.env);
  const output = createOutput(process.stdout, () => undefined);
  if (command.kind === "sessions.list") await output.write(list(command, home));
  else if (command.kind === "sessions.show") await output.write(show(command, home));
  else await output.write(await remove(command, home));
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

function show({ id, json }: Extract<Command, { kind: "sessions.show" }>, home: string): string {
  const session = sessionByPrefix({ home, prefix: id });
  const { lines, problems } = readTranscript(session.path);
  if (json) return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return renderTranscript(lines, { id: session.id, problems: problems.map(({ message }) => message) });
}

async function remove({ ids, yes }: Extract<Command, { kind: "sessions.delete" }>, home: string): Promise<string> {
  const chosen = ids.map((prefix) => sessionByPrefix({ home, prefix }));
  const names = chosen.map(({ id, firstPrompt }) => `${id}  ${firstPrompt ?? ""}`.trimEnd());
  if (!yes && !(await confirm(`${names.join("\n")}\nDelete for good?`))) return "Nothing was deleted.\n";
  for (const { project, id } of chosen) deleteSession({ home, project, sessionId: id });
  return `Deleted ${plural(chosen.length, "session")}.\n`;
}
