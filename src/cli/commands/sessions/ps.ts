import {
  awaitedRuns,
  findSession,
  listSessions,
  readTranscript,
  type SessionSummary,
  stateDirectory,
} from "../../../app/index.ts";
import { formatCount, plural } from "../../../lib/index.ts";
import {
  type AgentId,
  type CallId,
  callsOf,
  type EndReason,
  type Line,
  MAIN_AGENT,
  type Outcome,
  type RunId,
  type SessionId,
} from "../../../protocol/index.ts";
import { exitCodes } from "../../exit-codes.ts";
import { printHelp } from "../../help/print-help.ts";
import { createOutput, messageLines } from "../../output.ts";
import { type AgentTranscript, readUnfinishedAgents } from "../../progress/agent-transcripts.ts";
import { type AgentView, tokensOf } from "../../progress/agent-view.ts";
import { directoryOption, type HelpRequest, helpOption, readOptions, refusePositionals } from "../../read-options.ts";
import { chosenDirectory } from "../../real-directory.ts";
import { formatAge, renderTable } from "../listing.ts";
import { costOf, recordedAgent } from "./agent-tree.ts";

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

/** `idle`: the session is open, but its main agent has no prompt to work on. */
type AgentState = "running" | "waitingForApproval" | "waitingForAgents" | "idle" | "ended";

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
  /** Agent that waits for this background agent, if one does. */
  readonly awaitedBy?: AgentId | undefined;
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
  const transcripts: Pick<AgentTranscript, "agentId" | "name" | "lines">[] = [...readUnfinishedAgents(path)];
  if (inUse || lastOutcome !== "succeeded")
    transcripts.unshift({ agentId: MAIN_AGENT, lines: readTranscript(path).lines });
  const begun = transcripts.filter(({ lines }) => lines.some(({ type }) => type === "run.started"));
  const agents = begun.map((transcript) => ({
    ...transcript,
    view: recordedAgent(transcript),
    awaited: inUse ? awaitedRuns(transcript.lines) : [],
  }));
  return agents.map(({ agentId, name, lines, view, awaited }): ListedAgent => {
    const children = agents.filter(({ lines: [first] }) => isChildOf(first, agentId));
    const { reason, outcome } = view.end ?? (inUse ? {} : ({ reason: "process_lost", outcome: "failed" } as const));
    return {
      sessionId: id,
      cwd,
      agentId,
      agentType: view.agentType,
      name,
      description: agentId === MAIN_AGENT ? firstPrompt : view.description,
      state: stateOf(view, {
        lines,
        inUse,
        isAwaiting: awaited.length > 0,
        children: children.map((child) => child.view),
      }),
      outcome,
      reason,
      background: view.background,
      awaitedBy: agents.find((other) => other.awaited.some((runId) => runId === newestRun(lines)))?.agentId,
      startedAt: view.startedAt,
      lastEventAt: lines.at(-1)?.at ?? view.startedAt,
      turns: view.turns,
      tokens: tokensOf(view.usage),
      costUsd: view.costUsd,
      calls: inUse ? [...view.running.values()] : [],
    };
  });
}

function isChildOf(created: Line | undefined, agentId: AgentId): boolean {
  return created?.type === "agent.created" && created.parent.agentId === agentId;
}

interface AgentSituation {
  readonly lines: readonly Line[];
  /** Whether the agent's session is open in a process. */
  readonly inUse: boolean;
  /** Whether the agent waits for background agents before its next request. */
  readonly isAwaiting: boolean;
  readonly children: readonly AgentView[];
}

/** Returns the id of an agent's newest run. */
function newestRun(lines: readonly Line[]): RunId | undefined {
  const started = lines.findLast(({ type }) => type === "run.started");
  return started?.type === "run.started" ? started.runId : undefined;
}

function stateOf(view: AgentView, { lines, inUse, isAwaiting, children }: AgentSituation): AgentState {
  if (!inUse) return "ended";
  if (view.end !== undefined) return view.agentId === MAIN_AGENT ? "idle" : "ended";
  const { asked, delegated } = openCalls(lines);
  const calls = [...view.running.keys()];
  if (asked.size > 0) return "waitingForApproval";
  if (calls.length > 0) return calls.every((callId) => delegated.has(callId)) ? "waitingForAgents" : "running";
  const isDone = hasNothingToDo(lines) && children.some(({ end }) => end === undefined);
  return isDone || (isAwaiting && !isRequesting(lines)) ? "waitingForAgents" : "running";
}

/** Returns the calls of the last run that wait for approval, and those that have started or resumed an agent. */
function openCalls(lines: readonly Line[]): { readonly asked: Set<CallId>; readonly delegated: Set<CallId> } {
  const asked = new Set<CallId>();
  const delegated = new Set<CallId>();
  for (const line of lines.slice(lines.findLastIndex(({ type }) => type === "run.started"))) {
    if (line.type === "approval.requested") asked.add(line.callId);
    if (line.type === "approval.answered" || line.type === "tool.ended") asked.delete(line.callId);
    if ((line.type === "agent.spawned" || line.type === "agent.resumed") && line.callId) delegated.add(line.callId);
  }
  return { asked, delegated };
}

/** Returns whether the agent's last response has no calls. It then waits for its background agents, if it has any. */
function hasNothingToDo(lines: readonly Line[]): boolean {
  const last = lines.findLast(({ type }) => type === "model.requested" || type === "model.ended");
  return last?.type === "model.ended" && callsOf(last.message).length === 0;
}

/** Returns whether the model has not answered the last request of the newest run yet. */
function isRequesting(lines: readonly Line[]): boolean {
  const types: readonly Line["type"][] = ["run.started", "model.requested", "model.ended"];
  return lines.findLast(({ type }) => types.includes(type))?.type === "model.requested";
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
    `${stateText(agent)}${backgroundText(agent)}`,
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

function stateText({ state, outcome, reason }: ListedAgent): string {
  if (state === "idle") return outcome === "succeeded" ? "idle" : `idle: ${reasonText(reason)}`;
  return state === "ended" ? `ended: ${reasonText(reason)}` : stateTexts[state];
}

function backgroundText({ background, awaitedBy }: ListedAgent): string {
  if (!background) return "";
  return awaitedBy === undefined ? " (background)" : ` (background, ${awaitedBy} waits for it)`;
}

const stateTexts = {
  running: "running",
  waitingForApproval: "waiting for approval",
  waitingForAgents: "waiting for its subagents",
};

function reasonText(reason: EndReason | undefined): string {
  return reason === undefined ? "unknown" : reasonTexts[reason];
}

const reasonTexts: Readonly<Record<EndReason, string>> = {
  done: "done",
  max_turns: "turn limit",
  budget: "budget used up",
  stall: "model silent for too long",
  timeout: "time limit",
  loop: "repeated the same calls",
  output_limit: "response too long",
  context_overflow: "conversation too long",
  refused: "refused by the model",
  model_error: "model error",
  journal_error: "transcript not written",
  internal_error: "internal error",
  process_lost: "process lost",
  interrupted: "interrupted",
  stopped: "stopped",
  parked: "parked",
};
