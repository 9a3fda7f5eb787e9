import { findSession, listSessions, readTranscript, type SessionSummary, stateDirectory } from "../../../app/index.ts";
import {
  type AgentState,
  type CallItem,
  endWords,
  oneLine,
  stateNames,
  stateOf,
  tokensOf,
} from "../../../client/index.ts";
import { formatCount, plural } from "../../../lib/index.ts";
import { type AgentId, type EndReason, MAIN_AGENT, type Outcome, type SessionId } from "../../../protocol/index.ts";
import { exitCodes } from "../../exit-codes.ts";
import { printHelp } from "../../help/print-help.ts";
import { createOutput, messageLines } from "../../output.ts";
import { type AgentTranscript, readUnfinishedAgents } from "../../progress/agent-transcripts.ts";
import { directoryOption, type HelpRequest, helpOption, readOptions, refusePositionals } from "../../read-options.ts";
import { chosenDirectory } from "../../real-directory.ts";
import { formatAge, renderTable } from "../listing.ts";
import { costOf, recordedAgents } from "./agent-tree.ts";

/** Runs `retinue ps`, which lists the agents that are running and those that can be resumed. */
export async function ps(argv: readonly string[]): Promise<number> {
  const command = parsePs(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const { all, json, cwd } = command;
  const home = stateDirectory(process.env);
  const directory = chosenDirectory(cwd);
  const { agents, notes } = readAgents(listSessions(all ? { home } : { home, cwd: directory }));
  const { write } = createOutput(process.stdout);
  if (json) {
    await write(`${JSON.stringify(agents, null, 2)}\n`);
    await createOutput(process.stderr).write(messageLines(notes));
    return exitCodes.succeeded;
  }
  const nothing = all
    ? "No agents are running or can be resumed.\n"
    : `No agents in ${directory} are running or can be resumed. To look everywhere, run "retinue ps --all".\n`;
  const text = agents.length === 0 ? nothing : renderAgents(agents, { home, all });
  await write([text, ...notes.map((note) => `${note}\n`)].join(""));
  return exitCodes.succeeded;
}

interface PsCommand {
  readonly kind: "ps";
  readonly all: boolean;
  readonly json: boolean;
  readonly cwd: string | undefined;
}

export function parsePs(argv: readonly string[]): PsCommand | HelpRequest {
  const kinds = { all: {}, cwd: directoryOption, json: {}, help: helpOption };
  const options = readOptions(argv, { kinds, help: "retinue ps --help" });
  if (options.has("help")) return { kind: "help", topic: "ps" };
  refusePositionals(options, "ps", 'To see one session, use "retinue sessions show ID".');
  return { kind: "ps", all: options.has("all"), json: options.has("json"), cwd: options.value("cwd") };
}

interface ListedAgent {
  readonly sessionId: SessionId;
  readonly cwd: string | undefined;
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly name?: string | undefined;
  /** Task of the agent: for the main agent, the start of the session's first prompt. */
  readonly description: string;
  readonly state: AgentState;
  /** How the last run ended, if it has ended. */
  readonly outcome?: Outcome | undefined;
  readonly reason?: EndReason | undefined;
  readonly background: boolean;
  /** Start of the last run, and time of the last recorded event, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly lastEventAt: number;
  readonly turns: number;
  readonly tokens: number;
  readonly costUsd?: number | undefined;
  /** Calls that the agent is waiting for. */
  readonly calls: readonly string[];
}

/** Number of sessions that are not running whose transcripts are read. */
const MAX_ENDED = 20;

/** Reads the agents of the sessions, which must be sorted, newest first. Running sessions come first. */
function readAgents(sessions: readonly SessionSummary[]): {
  readonly agents: readonly ListedAgent[];
  readonly notes: readonly string[];
} {
  const running = sessions.filter(({ inUse }) => inUse);
  const ended = sessions.filter(({ inUse }) => !inUse);
  const unreadable: SessionId[] = [];
  const agents = [...running, ...ended.slice(0, MAX_ENDED)].flatMap((session) => {
    try {
      return agentsOf(session);
    } catch {
      unreadable.push(session.id);
      return [];
    }
  });
  const older = ended.length - MAX_ENDED;
  const notes = [
    ...(older > 0
      ? [
          `Left out: ${plural(older, "older session")} that ${older === 1 ? "is" : "are"} not running. "retinue sessions list" lists all sessions.`,
        ]
      : []),
    ...unreadable.map((id) => `Left out: the session ${id}, whose transcripts can't be read.`),
  ];
  return { agents, notes };
}

function agentsOf(session: SessionSummary): readonly ListedAgent[] {
  const { id, inUse, lastOutcome, path, cwd, firstPrompt = "" } = session;
  const transcripts: Pick<AgentTranscript, "agentId" | "lines">[] = [...readUnfinishedAgents(path)];
  if (inUse || lastOutcome !== "succeeded")
    transcripts.unshift({ agentId: MAIN_AGENT, lines: readTranscript(path).lines });
  const views = new Map(recordedAgents(transcripts).map((view) => [view.agentId, view]));
  return transcripts.flatMap(({ agentId }): readonly ListedAgent[] => {
    const view = views.get(agentId);
    if (view?.runId === undefined) return [];
    const { reason, outcome } = view.end ?? (inUse ? {} : ({ reason: "process_lost", outcome: "failed" } as const));
    return [
      {
        sessionId: id,
        cwd,
        agentId,
        agentType: view.agentType,
        name: view.name,
        description: agentId === MAIN_AGENT ? firstPrompt : view.description,
        state: inUse ? stateOf(view) : "ended",
        outcome,
        reason,
        background: view.background,
        startedAt: view.startedAt,
        lastEventAt: view.lastEventAt,
        turns: view.turns,
        tokens: tokensOf(view.usage),
        costUsd: view.costUsd,
        calls: inUse ? view.calls.flatMap(requestedCall) : [],
      },
    ];
  });
}

function requestedCall({ name, target, requestedAt }: CallItem): readonly string[] {
  return requestedAt === undefined ? [] : [`${oneLine(name)} ${target}`.trim()];
}

interface ListOptions {
  readonly home: string;
  /** Whether the sessions belong to different directories, so that each row names its directory. */
  readonly all: boolean;
}

function renderAgents(agents: readonly ListedAgent[], { home, all }: ListOptions): string {
  const head = ["SESSION", "AGENT", "TYPE", "STATE", "AGE", "TURNS", "TOKENS", "COST", "LAST EVENT"];
  const now = Date.now();
  const shortIds = new Map<SessionId, string>();
  for (const { sessionId } of agents) if (!shortIds.has(sessionId)) shortIds.set(sessionId, shortId(home, sessionId));
  const rows = agents.map((agent) => [
    shortIds.get(agent.sessionId) ?? agent.sessionId,
    agent.agentId,
    agent.name === undefined ? agent.agentType : `${agent.agentType} (${agent.name})`,
    `${stateText(agent)}${agent.background ? " (background)" : ""}`,
    formatAge(now - agent.startedAt),
    String(agent.turns),
    formatCount(agent.tokens),
    costOf([agent.costUsd]),
    `${formatAge(now - agent.lastEventAt)} ago`,
    ...(all ? [agent.cwd ?? ""] : []),
    [...agent.calls, agent.description].filter((part) => part !== "").join(" · "),
  ]);
  return renderTable([[...head, ...(all ? ["DIRECTORY"] : []), "WORK"], ...rows], process.stdout.columns || 0);
}

/** Returns the shortest end of a session's id that finds only this session. */
function shortId(home: string, id: SessionId): string {
  for (let length = SHORTEST_ID; length < id.length; length += 1) {
    const found = findSession({ home, id: id.slice(-length) });
    if (found.kind === "one" && found.session.id === id) return id.slice(-length);
  }
  return id;
}

const SHORTEST_ID = 6;

function stateText({ state, outcome, reason = "process_lost" }: ListedAgent): string {
  const end = outcome && endWords({ outcome, reason });
  if (state === "idle") return end === undefined || outcome === "succeeded" ? "idle" : `idle: ${end}`;
  return state === "ended" ? (end ?? "") : stateNames[state];
}
