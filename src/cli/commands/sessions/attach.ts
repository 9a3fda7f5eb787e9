import { endWords, oneLine } from "../../../client/index.ts";
import { plural } from "../../../lib/index.ts";
import { type AgentId, type Line, MAIN_AGENT, type RunUpdate, type SessionUpdate } from "../../../protocol/index.ts";
import { exitCodes } from "../../exit-codes.ts";
import { agentIdOf, parseSessionAgent, sessionError } from "../../find-session.ts";
import { printHelp } from "../../help/print-help.ts";
import { chooseHost } from "../../host/choose-host.ts";
import { type HostSession, type SessionHost, serverOption } from "../../host/session-host.ts";
import { createOutput, messageLines, type Output } from "../../output.ts";
import { createNotices } from "../../print/notices.ts";
import { createAgentViews } from "../../progress/agent-views.ts";
import { showProgress } from "../../progress/progress.ts";
import { type HelpRequest, helpOption, readOptions, usageError } from "../../read-options.ts";
import { resumeCommand } from "../../resume-command.ts";
import { leaveOnSignal } from "../../stop-signals.ts";
import { waitingFor } from "./ps.ts";
import { renderLine } from "./transcript.ts";

/**
 * Runs `retinue attach`, which shows what an agent is doing until it has ended, even if it is running in another
 * process.
 */
export async function attach(argv: readonly string[]): Promise<number> {
  const command = parseAttach(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const host = await chooseHost(command.server);
  const session = command.id === undefined ? await onlyRunning(host) : await host.find(command.id);
  const isMain = command.agent === undefined || command.agent === MAIN_AGENT;
  const agentId = isMain ? MAIN_AGENT : agentIdOf(command.agent, await host.agents(session));
  const { controller: leaving, code, release } = leaveOnSignal();
  const output = createOutput(process.stdout, () => leaving.abort());
  try {
    await follow({ host, session, agentId, output, leaving, ...command }, () => code() !== undefined);
  } finally {
    release();
  }
  return code() ?? exitCodes.succeeded;
}

/**
 * Returns the only running session. Throws a `UserError` if no session is running, or if several are, with a list of
 * them.
 */
async function onlyRunning(host: SessionHost): Promise<HostSession> {
  const open = (await host.list()).filter(({ inUse }) => inUse);
  const busy = open.filter(({ isIdle }) => !isIdle);
  // An idle session may still get a prompt.
  const running = busy.length > 0 ? busy : open;
  const [first, second] = running;
  if (first === undefined)
    throw sessionError("No session is running", `"retinue sessions list${host.option}" shows the others.`);
  if (second === undefined) return first;
  const shown = running.slice(0, 8).map(({ id, firstPrompt }) => `${id} (${oneLine(firstPrompt ?? "no prompt yet")})`);
  const more = running.length > shown.length ? ` and ${running.length - shown.length} more` : "";
  throw sessionError(
    `${running.length} sessions are ${busy.length > 0 ? "running" : "idle"}: ${shown.join(", ")}${more}`,
    `Name one of them: retinue attach ${first.id}${host.option}`,
  );
}

interface AttachCommand {
  readonly kind: "attach";
  /** Defaults to the only running session. */
  readonly id: string | undefined;
  readonly agent: string | undefined;
  readonly server: string | undefined;
  readonly fromStart: boolean;
  readonly json: boolean;
}

export function parseAttach(argv: readonly string[]): AttachCommand | HelpRequest {
  const kinds = { from: { value: "start", choices: ["start"] }, json: {}, server: serverOption, help: helpOption };
  const options = readOptions(argv, { kinds, help: "retinue attach --help" });
  if (options.has("help")) return { kind: "help", topic: "attach" };
  const [id, ...more] = options.positionals;
  if (more.length > 0) throw usageError('"attach" takes one id', "Name one session at a time.");
  const named = id === undefined ? { id, agent: undefined } : parseSessionAgent(id, undefined);
  const server = options.value("server");
  return { kind: "attach", ...named, server, fromStart: options.has("from"), json: options.has("json") };
}

interface FollowedAgent {
  readonly host: SessionHost;
  readonly session: HostSession;
  readonly agentId: AgentId;
  readonly output: Output;
  readonly leaving: AbortController;
  readonly fromStart: boolean;
  readonly json: boolean;
}

/** Shows updates to a person or a program. */
interface View {
  show(update: SessionUpdate): Promise<void>;
  report(message: string): void;
  /** Resolves when everything has been written. */
  close(): Promise<void>;
}

/** Follows an agent until it ends or the user stops following it, and reports which of the two happened. */
async function follow(followed: FollowedAgent, hasLeft: () => boolean): Promise<void> {
  const { host, session, agentId, leaving, json } = followed;
  const createView = json ? createJsonView : createTextView;
  const history: SessionUpdate[] = [];
  let view: View | undefined;
  let run: Line | undefined;
  // A session is followed until it is closed, because its main agent may get another prompt.
  const isDone = (): boolean => agentId !== MAIN_AGENT && run?.type === "run.ended";
  const onCaughtUp = (): void => {
    view = createView(followed, history);
    if (isDone()) leaving.abort();
  };
  const report = (message: string): void => {
    if (view === undefined) process.stderr.write(messageLines([message]));
    else view.report(message);
  };
  for await (const update of host.follow(session, { signal: leaving.signal, onCaughtUp, report })) {
    const { event } = update;
    if (update.agentId === agentId && (event.type === "run.started" || event.type === "run.ended")) run = event;
    if (view === undefined) history.push(update);
    else await view.show(update);
    if (view !== undefined && isDone()) break;
  }
  view ??= createView(followed, []);
  if (hasLeft()) view.report(await leavingText(followed));
  // Otherwise, the reader of the output has closed it.
  else if (!leaving.signal.aborted || isDone()) view.report(await endingText(followed, run));
  await view.close();
}

async function leavingText(followed: FollowedAgent): Promise<string> {
  const { host, session, agentId } = followed;
  const again = `retinue attach ${targetOf(followed)}${host.option}`;
  const more = (await isRunning(followed)) ? ` It continues. To follow it again: ${again}` : "";
  return `No longer following ${nameOf(session, agentId)}.${more}`;
}

/** Says how the agent ended. `run` is its last `run.started` or `run.ended` line. */
async function endingText(followed: FollowedAgent, run: Line | undefined): Promise<string> {
  const { host, session, agentId } = followed;
  const target = `${session.id}${host.option}`;
  const resumed = agentId === MAIN_AGENT ? undefined : agentId;
  if (run === undefined)
    return `The ${nameOf(session, agentId)} was closed before it got a prompt. To send one: ${await resumeCommand({ host, session, agentId: resumed, needsPrompt: true })}`;
  const { waitsFor, waitingPrompts = 0 } = (await host.find(session.id).catch(() => undefined)) ?? {};
  if (waitsFor !== undefined) return `The ${nameOf(session, agentId)} is parked: ${waitingFor(waitsFor)}.`;
  const end = run.type === "run.ended" ? run : undefined;
  const how = end === undefined ? "cut off, because the process ended before the run did" : endWords(end);
  const ending = `The ${nameOf(session, agentId)} has ended: ${how}.`;
  if (await isRunning(followed)) return `${ending} Its session continues. To follow it: retinue attach ${target}`;
  const isDone = end?.outcome === "succeeded";
  const resume = await resumeCommand({ host, session, agentId: isDone ? undefined : resumed });
  if (!isDone) return `${ending} To continue: ${resume}`;
  if (waitingPrompts === 0) return ending;
  const [waits, them] = waitingPrompts === 1 ? ["waits", "it"] : ["wait", "them"];
  return `${ending} ${plural(waitingPrompts, "prompt")} ${waits}. To send ${them}: ${resume}`;
}

async function isRunning({ host, session: { id } }: FollowedAgent): Promise<boolean> {
  const session = await host.find(id).catch(() => undefined);
  return session?.inUse === true;
}

function nameOf({ id }: HostSession, agentId: AgentId): string {
  return agentId === MAIN_AGENT ? `session ${id}` : `agent ${agentId}`;
}

function targetOf({ session: { id }, agentId }: FollowedAgent): string {
  return agentId === MAIN_AGENT ? id : `${id}/${agentId}`;
}

function createJsonView({ agentId, output, fromStart }: FollowedAgent, history: readonly SessionUpdate[]): View {
  const asRunUpdate = createFamily(agentId);
  let written: Promise<void> = Promise.resolve();
  const write = (update: SessionUpdate): void => {
    // Live events are not recorded.
    if (!("id" in update.event)) return;
    written = output.write(`${JSON.stringify(update)}\n`);
  };
  const first = fromStart ? 0 : lastTurn(history, agentId);
  for (const [index, update] of history.entries()) if (asRunUpdate(update) && index >= first) write(update);
  return {
    show: (update) => {
      if (asRunUpdate(update)) write(update);
      return written;
    },
    report: (message) => {
      process.stderr.write(messageLines([message]));
    },
    close: () => written,
  };
}

/** Lines that are already shown as progress or as notices, so that they are not printed as well. */
const shownElsewhere: ReadonlySet<Line["type"]> = new Set(["tool.ended", "model.retried", "notice.raised"]);

function createTextView(followed: FollowedAgent, history: readonly SessionUpdate[]): View {
  const { host, session, agentId, output, fromStart } = followed;
  const asRunUpdate = createFamily(agentId);
  const agents = createAgentViews();
  /** Agents that had ended before the first update that is shown. */
  const past = new Set<AgentId>();
  const started = history.findLast((update) => update.agentId === agentId && update.event.type === "run.started");
  const progress = showProgress(
    output,
    {
      verbose: true,
      quiet: false,
      agents: {
        get main() {
          return agents.main;
        },
        get: agents.get,
        inOrder: () => agents.inOrder().filter((agent) => !past.has(agent.agentId)),
        get size() {
          return agents.size - past.size;
        },
      },
    },
    { stream: process.stdout, isRunning: session.inUse, startedAt: started && timeOf(started) },
  );
  const notices = createNotices("wait", progress.report, host.option);
  /** Requests that have no recorded answer and have not been reported. */
  const requests = new Map<string, RunUpdate>();

  function display(update: SessionUpdate): void {
    const shown = asRunUpdate(update);
    if (shown === undefined) return;
    const { event } = update;
    agents.observe(shown);
    if (event.type === "run.started") past.delete(update.agentId);
    if (event.type === "approval.requested") requests.set(event.requestId, shown);
    else notices.observe(shown);
    if (event.type === "approval.answered") requests.delete(event.requestId);
    const text = shown === event && "id" in event && !shownElsewhere.has(event.type) ? renderLine(event) : "";
    if (text !== "") progress.print(text);
    progress.observe(shown);
  }

  /**
   * Reports requests that are waiting for an answer. The host is asked which ones are, because runs without an approver
   * also record requests, although these are denied at once.
   */
  async function reportRequests(): Promise<void> {
    if (requests.size === 0) return;
    const waiting = await host.approvals({ sessionId: session.id });
    for (const { question } of waiting) {
      const request = requests.get(question.requestId);
      if (request !== undefined) notices.observe(request);
      requests.delete(question.requestId);
    }
  }

  const first = fromStart ? 0 : lastTurn(history, agentId);
  const before = history.slice(0, first);
  for (const update of before) {
    const known = asRunUpdate(update);
    if (known !== undefined) agents.observe(known);
  }
  for (const agent of agents.inOrder()) if (agent.end !== undefined) past.add(agent.agentId);
  const turns = before.filter((update) => update.agentId === agentId && update.event.type === "model.ended").length;
  const rest = turns === 0 ? "" : ` · ${plural(turns, "earlier turn")} not shown (add --from start)`;
  progress.print(
    `Session ${targetOf(followed)} · ${session.isIdle ? "idle" : session.inUse ? "running" : "not running"}${rest}`,
  );
  for (const update of history.slice(first)) tolerate(() => display(update));
  const begun = reportRequests();
  return {
    show: async (update) => {
      await begun;
      tolerate(() => display(update));
      await reportRequests();
      await progress.flushed();
    },
    report: (message) => progress.report(message),
    close: async () => {
      await begun;
      progress.end();
      await progress.flushed();
    },
  };
}

/** Shows one line and ignores errors, because a damaged line must not hide the other lines. */
function tolerate(action: () => void): void {
  try {
    action();
  } catch {
    // `sessions show` reports the line.
  }
}

function timeOf({ event }: SessionUpdate): number {
  return "at" in event ? event.at : Date.now();
}

/**
 * Returns a function that filters a session's updates for one agent's run: its own updates, and those of the agents
 * below it. The function must be called for all updates. It returns undefined for updates from other agents.
 */
function createFamily(top: AgentId): (update: SessionUpdate) => RunUpdate | undefined {
  const members = new Map([[top, { agentType: "", path: [] as readonly AgentId[] }]]);
  return ({ agentId, event }) => {
    const parent = event.type === "agent.created" ? members.get(event.parent.agentId) : undefined;
    if (event.type === "agent.created" && parent !== undefined && agentId !== top)
      members.set(agentId, { agentType: event.agentType, path: [...parent.path, agentId] });
    const member = members.get(agentId);
    if (member === undefined || agentId === top) return member && event;
    return { type: "subagent.event", agentId, ...member, event };
  };
}

/** Returns the index of the agent's last response, or of the prompt that it answers. */
function lastTurn(history: readonly SessionUpdate[], agentId: AgentId): number {
  const indexes = history.flatMap((update, index) =>
    update.agentId === agentId && ["prompt.received", "model.ended"].includes(update.event.type) ? [index] : [],
  );
  const [before = 0, last = before] = indexes.slice(-2);
  return history[before]?.event.type === "prompt.received" ? before : last;
}
