import { awaitedRuns } from "../../../app/index.ts";
import {
  type AgentState,
  type AgentView,
  type CallItem,
  type Delay,
  delayWords,
  endWords,
  oneLine,
  stateNames,
  stateOf,
  tokensOf,
} from "../../../client/index.ts";
import { formatCount, matchId, plural, UserError } from "../../../lib/index.ts";
import { type AgentId, type EndReason, MAIN_AGENT, type Outcome, type SessionId } from "../../../protocol/index.ts";
import { exitCodes } from "../../exit-codes.ts";
import { printHelp } from "../../help/print-help.ts";
import { chooseHost, listedDirectory } from "../../host/choose-host.ts";
import { type HostSession, type SessionHost, serverOption } from "../../host/session-host.ts";
import { createOutput, messageLines } from "../../output.ts";
import { directoryOption, type HelpRequest, helpOption, readOptions, refusePositionals } from "../../read-options.ts";
import { formatAge, renderTable } from "../listing.ts";
import { costOf, recordedAgents } from "./agent-tree.ts";

/** Runs `retinue ps`, which lists the agents that are running and those that can be resumed. */
export async function ps(argv: readonly string[]): Promise<number> {
  const command = parsePs(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const { all, json, cwd, server } = command;
  const host = await chooseHost(server);
  const directory = listedDirectory({ all, cwd, server });
  const { agents, notes: found } = await readAgents(host, await host.list({ cwd: directory }));
  const unlisted = directory === undefined ? host.unlisted("sessions") : undefined;
  const notes = unlisted === undefined ? found : [...found, unlisted];
  const { write } = createOutput(process.stdout);
  if (json) {
    await write(`${JSON.stringify(agents, null, 2)}\n`);
    await createOutput(process.stderr).write(messageLines(notes));
    return exitCodes.succeeded;
  }
  const nothing =
    directory === undefined
      ? "No agents are running or can be resumed.\n"
      : `No agents in ${directory} are running or can be resumed. To look everywhere, run "retinue ps --all${host.option}".\n`;
  const text =
    agents.length === 0
      ? nothing
      : renderAgents(agents, { ids: (await host.list()).map(({ id }) => id), all: directory === undefined });
  await write([text, ...notes.map((note) => `${note}\n`)].join(""));
  return exitCodes.succeeded;
}

interface PsCommand {
  readonly kind: "ps";
  readonly all: boolean;
  readonly json: boolean;
  readonly cwd: string | undefined;
  readonly server: string | undefined;
}

export function parsePs(argv: readonly string[]): PsCommand | HelpRequest {
  const kinds = { all: {}, cwd: directoryOption, json: {}, server: serverOption, help: helpOption };
  const options = readOptions(argv, { kinds, help: "retinue ps --help" });
  if (options.has("help")) return { kind: "help", topic: "ps" };
  refusePositionals(options, "ps", 'To see one session, use "retinue sessions show ID".');
  const { value, has } = options;
  return { kind: "ps", all: has("all"), json: has("json"), cwd: value("cwd"), server: value("server") };
}

interface ListedAgent {
  readonly sessionId: SessionId;
  readonly cwd: string | undefined;
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly name?: string | undefined;
  /** The agent's task or, for the main agent, the start of the session's first prompt. */
  readonly description: string;
  readonly state: AgentState;
  /** What a delayed agent is waiting for. */
  readonly delayedBy?: Delay | undefined;
  /** How the last run ended, if it has ended. */
  readonly outcome?: Outcome | undefined;
  readonly reason?: EndReason | undefined;
  /** Set if the last run ended because a budget in dollars can't be enforced without the price of its model. */
  readonly unpriced?: true | undefined;
  /** Name of the worker that the parked session is waiting for. */
  readonly waitsFor?: string | undefined;
  /** Number of prompts that the session's agents have not received. Set only for the main agent. */
  readonly waitingPrompts?: number | undefined;
  readonly background: boolean;
  /** Agent that is waiting for this background agent, if any. */
  readonly awaitedBy?: AgentId | undefined;
  /** Start of the last run, and time of the last recorded event, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly lastEventAt: number;
  readonly turns: number;
  readonly tokens: number;
  readonly costUsd?: number | undefined;
  /** Set if `costUsd` includes the maximum cost of requests whose responses were lost. */
  readonly isCostAtMost?: true | undefined;
  /** Calls that the agent is waiting for. */
  readonly calls: readonly string[];
}

/** Maximum number of ended sessions whose transcripts are read. */
const MAX_ENDED = 20;

/**
 * Reads the agents of the given sessions, which must be sorted newest first. The agents of running sessions come first
 * in the result.
 */
async function readAgents(
  host: SessionHost,
  sessions: readonly HostSession[],
): Promise<{ readonly agents: readonly ListedAgent[]; readonly notes: readonly string[] }> {
  const running = sessions.filter(({ inUse }) => inUse);
  const ended = sessions.filter(({ inUse }) => !inUse);
  const unreadable: SessionId[] = [];
  const agents: ListedAgent[] = [];
  const read = ended.filter(({ waitingPrompts }, index) => index < MAX_ENDED || waitingPrompts > 0);
  for (const session of [...running, ...read]) {
    try {
      agents.push(...(await agentsOf(host, session)));
    } catch (error) {
      // One session's damaged files must not hide the other sessions. If a server fails, however, no session can be
      // listed.
      if (error instanceof UserError) throw error;
      unreadable.push(session.id);
    }
  }
  const older = ended.length - read.length;
  const notes = [
    ...(older > 0
      ? [
          `Left out: ${plural(older, "older session")} that ${older === 1 ? "is" : "are"} not running. "retinue sessions list${host.option}" lists all sessions.`,
        ]
      : []),
    ...unreadable.map((id) => `Left out: the session ${oneLine(id)}, whose transcripts can't be read.`),
  ];
  return { agents, notes };
}

async function agentsOf(host: SessionHost, session: HostSession): Promise<readonly ListedAgent[]> {
  const { id, inUse, lastOutcome, cwd, firstPrompt = "", waitsFor, wasStopped, waitingPrompts } = session;
  const transcripts = [...(await host.transcripts(session, "unfinished"))];
  if (inUse || lastOutcome !== "succeeded" || waitingPrompts > 0)
    transcripts.unshift(await host.transcript(session, MAIN_AGENT));
  const views = new Map(recordedAgents(transcripts).map((view) => [view.agentId, view]));
  const queued = inUse ? await queuedAgents(host, session, views) : [];
  const awaiting = transcripts.map(({ agentId, lines }) => ({ agentId, runs: inUse ? awaitedRuns(lines) : [] }));
  return [...transcripts.map(({ agentId }) => agentId), ...queued].flatMap((agentId): readonly ListedAgent[] => {
    const view = views.get(agentId);
    if (view === undefined || (view.runId === undefined && !queued.includes(agentId))) return [];
    if (agentId !== MAIN_AGENT && view.end?.outcome === "succeeded") return [];
    const end = view.end ?? (inUse ? {} : ({ reason: "process_lost", outcome: "failed" } as const));
    const { outcome } = end;
    const reason = wasStopped && end.reason === "parked" ? "stopped" : end.reason;
    return [
      {
        sessionId: id,
        cwd,
        agentId,
        agentType: view.agentType,
        name: view.name,
        description: agentId === MAIN_AGENT ? firstPrompt : view.description,
        state: inUse
          ? stateWhile(view, { isAwaiting: awaiting.some((each) => each.agentId === agentId && each.runs.length > 0) })
          : "ended",
        delayedBy: inUse && view.step.kind === "delayed" ? view.step.by : undefined,
        outcome,
        reason,
        unpriced: view.end?.limit?.unpriced,
        waitsFor,
        waitingPrompts: agentId === MAIN_AGENT ? waitingPrompts : undefined,
        background: view.background,
        awaitedBy: awaiting.find(({ runs }) => runs.some((runId) => runId === view.runId))?.agentId,
        startedAt: view.startedAt,
        lastEventAt: view.lastEventAt,
        turns: view.turns,
        tokens: tokensOf(view.usage),
        costUsd: view.costUsd,
        isCostAtMost: view.isCostAtMost,
        calls: inUse ? view.calls.flatMap(requestedCall) : [],
      },
    ];
  });
}

/** Returns the agents that have no transcript yet, because they are waiting for a slot. */
async function queuedAgents(
  host: SessionHost,
  session: HostSession,
  views: ReadonlyMap<AgentId, AgentView>,
): Promise<readonly AgentId[]> {
  const spawned = [...views.values()].filter(({ step }) => step.kind === "delayed" && step.by === "slot");
  if (spawned.length === 0) return [];
  // The transcripts of agents that have ended are not read, so these agents seem to be waiting too.
  const begun = new Set((await host.agents(session)).map(({ agentId }) => agentId));
  return spawned.map(({ agentId }) => agentId).filter((agentId) => !begun.has(agentId));
}

/** Returns an agent's state. An agent waits for background agents only if it has no request or call in progress. */
function stateWhile(view: AgentView, { isAwaiting }: { readonly isAwaiting: boolean }): AgentState {
  const state = stateOf(view);
  const isBusy = view.step.kind === "asking" || view.calls.length > 0;
  return state === "running" && isAwaiting && !isBusy ? "waitingForAgents" : state;
}

function requestedCall({ name, target, requestedAt }: CallItem): readonly string[] {
  return requestedAt === undefined ? [] : [`${oneLine(name)} ${target}`.trim()];
}

interface ListOptions {
  /** Ids of all sessions. */
  readonly ids: readonly SessionId[];
  /** Whether each row names its directory, because the sessions belong to different directories. */
  readonly all: boolean;
}

function renderAgents(agents: readonly ListedAgent[], { ids, all }: ListOptions): string {
  const head = ["SESSION", "AGENT", "TYPE", "STATE", "AGE", "TURNS", "TOKENS", "COST", "LAST EVENT"];
  const now = Date.now();
  const shortIds = new Map<SessionId, string>();
  for (const { sessionId } of agents) if (!shortIds.has(sessionId)) shortIds.set(sessionId, shortId(ids, sessionId));
  const rows = agents.map((agent) => [
    shortIds.get(agent.sessionId) ?? agent.sessionId,
    agent.agentId,
    agent.name === undefined ? agent.agentType : `${agent.agentType} (${agent.name})`,
    `${stateText(agent)}${backgroundText(agent)}${promptsText(agent.waitingPrompts)}`,
    formatAge(now - agent.startedAt),
    String(agent.turns),
    formatCount(agent.tokens),
    costOf([agent]),
    `${formatAge(now - agent.lastEventAt)} ago`,
    ...(all ? [agent.cwd ?? ""] : []),
    [...agent.calls, agent.description].filter((part) => part !== "").join(" · "),
  ]);
  return renderTable([[...head, ...(all ? ["DIRECTORY"] : []), "WORK"], ...rows], process.stdout.columns || 0);
}

/** Returns the shortest suffix of a session's id that matches only this session. */
function shortId(ids: readonly SessionId[], id: SessionId): string {
  for (let length = SHORTEST_ID; length < id.length; length += 1) {
    const match = matchId(ids, id.slice(-length));
    if (match.kind === "one" && match.id === id) return id.slice(-length);
  }
  return id;
}

const SHORTEST_ID = 6;

function stateText(agent: ListedAgent): string {
  const { state, delayedBy, outcome, reason = "process_lost", unpriced, waitsFor } = agent;
  if (waitsFor !== undefined && reason === "parked") return `parked: ${waitingFor(waitsFor)}`;
  const end = outcome && endWords({ reason, limit: { unpriced } });
  if (state === "idle") return end === undefined || outcome === "succeeded" ? "idle" : `idle: ${end}`;
  if (state === "ended") return end ?? "";
  return delayedBy === undefined || state !== "delayed" ? stateNames[state] : delayWords[delayedBy];
}

/** Says how many of a session's prompts have not been received: `, 2 prompts waiting`. Empty if there are none. */
export function promptsText(count = 0): string {
  return count === 0 ? "" : `, ${plural(count, "prompt")} waiting`;
}

/** Describes what a worker's parked session is waiting for. */
export function waitingFor(worker: string): string {
  return `worker ${worker} is not connected; continues automatically when it returns`;
}

function backgroundText({ background, awaitedBy }: ListedAgent): string {
  if (!background) return "";
  return awaitedBy === undefined ? " (background)" : ` (background, ${awaitedBy} is waiting for it)`;
}
