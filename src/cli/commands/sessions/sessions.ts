import { deleteSession, readTranscript, reportCache, stateDirectory } from "../../../app/index.ts";
import { plural, type UserError } from "../../../lib/index.ts";
import { type Line, MAIN_AGENT } from "../../../protocol/index.ts";
import { exitCodes } from "../../exit-codes.ts";
import { agentIdOf, parseSessionAgent, sessionById } from "../../find-session.ts";
import { printHelp } from "../../help/print-help.ts";
import { chooseHost, listedDirectory } from "../../host/choose-host.ts";
import { type HostSession, serverOption } from "../../host/session-host.ts";
import { createOutput, messageLines } from "../../output.ts";
import { type PrintOptions, parsePrintOptions, printOptionKinds } from "../../print/print-options.ts";
import { printRun } from "../../print/print-run.ts";
import { readAgentTranscripts } from "../../progress/agent-transcripts.ts";
import {
  directoryOption,
  type HelpRequest,
  helpOption,
  readOptions,
  readVerb,
  usageError,
} from "../../read-options.ts";
import { resumeCommand } from "../../resume-command.ts";
import { renderReport } from "../cache.ts";
import { confirm } from "../confirm.ts";
import { ago, renderTable } from "../listing.ts";
import { recordedAgents, renderAgentTree } from "./agent-tree.ts";
import { promptsText } from "./ps.ts";
import { renderTranscript } from "./transcript.ts";

/** Runs `retinue sessions list|show|resume|export|delete`. */
export async function sessions(argv: readonly string[]): Promise<number> {
  const command = parseSessions(argv);
  const home = stateDirectory(process.env);
  const { write } = createOutput(process.stdout);
  switch (command.kind) {
    case "help":
      return printHelp(command.topic);
    case "resume":
      return printRun(command.options);
    case "list":
      await write(await list(command));
      await writeUnlisted(command);
      break;
    case "show":
      await write(await show(command));
      break;
    case "export":
      for (const part of exported(command.id, home)) await write(part);
      break;
    case "delete":
      await write(await remove(command, home));
  }
  return exitCodes.succeeded;
}

type SessionsCommand =
  | {
      readonly kind: "list";
      readonly json: boolean;
      readonly all: boolean;
      readonly cwd: string | undefined;
      readonly server: string | undefined;
    }
  | {
      readonly kind: "show";
      readonly id: string;
      readonly agent: string | undefined;
      readonly json: boolean;
      readonly server: string | undefined;
    }
  | { readonly kind: "resume"; readonly options: PrintOptions }
  | { readonly kind: "export"; readonly id: string }
  | { readonly kind: "delete"; readonly ids: readonly string[]; readonly yes: boolean };

const verbs = {
  list: { json: {}, all: {}, cwd: directoryOption, server: serverOption, help: helpOption },
  show: { json: {}, agent: { value: "ID" }, server: serverOption, help: helpOption },
  export: { help: helpOption },
  delete: { yes: { short: "y" }, help: helpOption },
};

export function parseSessions(argv: readonly string[]): SessionsCommand | HelpRequest {
  if (argv[0] === "resume") return parseResume(argv.slice(1));
  const read = readVerb("sessions", argv, { verbs, others: ["resume"] });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const [id, ...more] = options.positionals;
  const json = options.has("json");
  const server = options.value("server");
  if (verb === "list") {
    if (id !== undefined) throw usageError('"sessions list" takes no id', `Use "retinue sessions show ${id}".`);
    return { kind: "list", json, all: options.has("all"), cwd: options.value("cwd"), server };
  }
  if (id === undefined) throw needsSession(verb);
  if (verb === "delete") return { kind: "delete", ids: options.positionals, yes: options.has("yes") };
  if (more.length > 0) throw usageError(`"sessions ${verb}" takes one id`, "Name one session at a time.");
  if (verb === "export") return { kind: "export", id };
  return { kind: "show", ...parseSessionAgent(id, options.value("agent")), json, server };
}

/** Parses `sessions resume ID [prompt]`, which is the same as `-p --resume ID [prompt]`. */
function parseResume(argv: readonly string[]): SessionsCommand | HelpRequest {
  const { resume: _resume, continue: _continue, ...kinds } = printOptionKinds;
  const options = readOptions(argv, { kinds: { ...kinds, help: helpOption }, help: "retinue --help" });
  if (options.has("help")) return { kind: "help", topic: "sessions" };
  const [id, ...prompt] = options.positionals;
  if (id === undefined) throw needsSession("resume");
  return { kind: "resume", options: { ...parsePrintOptions({ ...options, positionals: prompt }), resume: id } };
}

function needsSession(verb: string): UserError {
  return usageError(`"sessions ${verb}" needs a session id`, '"retinue sessions list" shows the ids.');
}

async function list({ all, json, cwd, server }: Extract<SessionsCommand, { kind: "list" }>): Promise<string> {
  const host = await chooseHost(server);
  const directory = listedDirectory({ all, cwd, server });
  const found = await host.list({ cwd: directory });
  if (json) return `${JSON.stringify(found, null, 2)}\n`;
  if (found.length > 0) return renderList(found, directory === undefined);
  if (directory === undefined) return "There are no sessions anywhere yet.\n";
  const everywhere = `To look everywhere, run "retinue sessions list --all${host.option}".`;
  return `There are no sessions in ${directory} yet. ${everywhere}\n`;
}

/** Says that workers' sessions are not included, if all directories are listed. */
async function writeUnlisted({ all, server }: Extract<SessionsCommand, { kind: "list" }>): Promise<void> {
  const unlisted = all ? (await chooseHost(server)).unlisted("sessions") : undefined;
  if (unlisted !== undefined) await createOutput(process.stderr).write(messageLines([unlisted]));
}

/**
 * Renders a table, newest session first. With `all`, the sessions belong to different directories, so each row names
 * its directory.
 */
function renderList(found: readonly HostSession[], all: boolean): string {
  const head = ["SESSION", "WHEN", "STATE", "TURNS", ...(all ? ["DIRECTORY"] : []), "FIRST PROMPT"];
  const now = Date.now();
  const rows = found.map((session) => [
    session.id,
    ago(now - session.updatedAt),
    `${stateOf(session)}${promptsText(session.waitingPrompts)}`,
    String(session.turns),
    ...(all ? [session.cwd ?? session.project ?? ""] : []),
    session.firstPrompt ?? session.damaged ?? "",
  ]);
  return renderTable([head, ...rows], process.stdout.columns || 0);
}

function stateOf({ inUse, isIdle, damaged, firstPrompt, lastOutcome, verified }: HostSession): string {
  if (damaged !== undefined) return "damaged";
  if (inUse) return isIdle ? "idle" : "running";
  if (firstPrompt === undefined && lastOutcome === undefined) return "no prompt yet";
  if (lastOutcome === "succeeded" && verified === false) return "not verified";
  return lastOutcome ?? "cut off";
}

async function show({ id, agent, json, server }: Extract<SessionsCommand, { kind: "show" }>): Promise<string> {
  const host = await chooseHost(server);
  const session = await host.find(id);
  const isMain = agent === undefined || agent === MAIN_AGENT;
  const agentId = isMain ? MAIN_AGENT : agentIdOf(agent, await host.agents(session));
  const { lines, problems } = await host.transcript(session, agentId);
  if (json) return jsonLines(lines);
  const name = isMain ? session.id : `${session.id}/${agentId}`;
  const resumable = session.inUse
    ? undefined
    : await resumeCommand({ host, session, agentId: isMain ? undefined : agentId });
  const transcript = renderTranscript(lines, { id: name, problems, resumable });
  if (!isMain) return transcript;
  const agents = recordedAgents([{ agentId, lines }, ...(await host.transcripts(session, "all"))]);
  return `${transcript}${renderAgentTree(agents, session)}${await cacheSection(session.path)}`;
}

/**
 * Renders the cache usage; empty if no model has responded, if the transcripts are too damaged to tell, or if they are
 * on a server.
 */
async function cacheSection(path: string | undefined): Promise<string> {
  const report = path === undefined ? undefined : await reportCache(path).catch(() => undefined);
  return report === undefined || report.total.requests === 0 ? "" : `\n${renderReport(report)}`;
}

/** Yields every recorded line with the id of its agent, grouped by agent. */
function* exported(id: string, home: string): Iterable<string> {
  const { path } = sessionById({ home, id });
  const withAgent = (agent: string) => (line: Line) => ({ agent, ...exportedLine(line) });
  yield jsonLines(readTranscript(path).lines.map(withAgent(MAIN_AGENT)));
  for (const { agentId, lines } of readAgentTranscripts(path)) yield jsonLines(lines.map(withAgent(agentId)));
}

/** Converts a compaction to the form that readers of compatible transcripts expect, and keeps all its other fields. */
function exportedLine(line: Line): object {
  if (line.type !== "conversation.compacted") return line;
  const { type: _, trigger, before, ...rest } = line;
  return { ...rest, type: "system", subtype: "compact_boundary", compactMetadata: { trigger, preTokens: before } };
}

function jsonLines(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

async function remove({ ids, yes }: Extract<SessionsCommand, { kind: "delete" }>, home: string): Promise<string> {
  const chosen = ids.map((id) => sessionById({ home, id }));
  const names = chosen.map(({ id, firstPrompt }) => `${id}  ${firstPrompt ?? ""}`.trimEnd());
  if (!yes && !(await confirm(`${names.join("\n")}\nDelete permanently?`))) return "Nothing was deleted.\n";
  for (const { project, id } of chosen) deleteSession({ home, project, sessionId: id });
  return `Deleted ${plural(chosen.length, "session")}.\n`;
}
