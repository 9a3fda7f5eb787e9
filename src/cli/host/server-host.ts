import { answerFor, matchRequest, refuseAgentCommand, userName } from "../../app/index.ts";
import { type Client, ClientError, type ClientSession, createClient } from "../../client/index.ts";
import { isLoopback, isRecord, maskAddress, UserError } from "../../lib/index.ts";
import {
  type Line,
  MAIN_AGENT,
  type Receipt,
  type SessionInfo,
  type SessionUpdate,
  type WaitingApproval,
} from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { sessionIn } from "../find-session.ts";
import { usageError } from "../read-options.ts";
import { readOwnServer } from "./own-server.ts";
import type { Following, HostSession, HostTranscript, SessionHost, WaitingRequest } from "./session-host.ts";

interface ServerHostOptions {
  readonly url: string;
  /** State directory, where the same user's server keeps a token. */
  readonly home: string;
}

interface ServerConnection {
  readonly client: Client;
  /** Whether the token may have the `approve` scope, which the token in `server.json` never has. */
  readonly mayApprove: boolean;
  /** Waits for the server's response for a limited time, and converts the server's errors to errors for the user. */
  asked<Value>(promise: Promise<Value>): Promise<Value>;
  /** Like `asked`, for a list whose items have these texts. The address may be that of another program. */
  askedList<Item>(
    promise: Promise<readonly Item[]>,
    textsOf: (item: Item) => readonly unknown[],
  ): Promise<readonly Item[]>;
  /** Converts an error from the server to an error for the user. */
  explain(error: unknown): unknown;
}

/** Finds the token for a server, without sending a request. */
export function connectTo({ url, home }: ServerHostOptions): ServerConnection {
  const address = addressOf(url);
  const { token, origin } = tokenFor(address, home);
  const explain = (error: unknown): unknown =>
    error instanceof ClientError ? explained(error, { address, origin }) : error;
  const asked: ServerConnection["asked"] = async (promise) => {
    try {
      return await withinTime(promise, () => silentServer(address));
    } catch (error) {
      throw explain(error);
    }
  };
  return {
    client: createClient({ url: address.href, token }),
    mayApprove: origin !== "own",
    explain,
    asked,
    askedList: async (promise, textsOf) => {
      const all = await asked(promise);
      const isUsable = (item: (typeof all)[number]): boolean =>
        isRecord(item) && textsOf(item).every((text) => typeof text === "string");
      if (Array.isArray(all) && all.every(isUsable)) return all;
      throw new UserError(`The server ${address.origin} sent an answer that this command can't use`, {
        code: "invalid_answer",
        fix: "Check that it is a Retinue server of the same version.",
      });
    },
  };
}

/** Reads and steers a server's sessions. */
export function createServerHost({ url, home }: ServerHostOptions): SessionHost {
  const { client, asked, askedList, explain } = connectTo({ url, home });
  const opened = ({ id }: HostSession): ClientSession => client.sessions.open(id);

  const allSessions = () => askedList(client.sessions.list(), ({ id, cwd, state }) => [id, cwd, state]);

  const agents: SessionHost["agents"] = async (session) => {
    const all = await askedList(opened(session).agents(), ({ agentId }) => [agentId]);
    return all.filter(({ agentId }) => agentId !== MAIN_AGENT);
  };
  const transcript: SessionHost["transcript"] = async (session, agentId) => {
    const lines = await asked(allOf(opened(session).lines(agentId)));
    const [created] = lines;
    const name = created?.type === "agent.created" ? created.name : undefined;
    return { agentId, name, lines, problems: [] };
  };
  const approvals: SessionHost["approvals"] = async ({ cwd, sessionId }) => {
    const [waiting, sessions] = await Promise.all([askedList(client.approvals.list(), requestTexts), allSessions()]);
    const listed = new Map(sessions.map((session) => [session.id, session]));
    return waiting.flatMap(({ question, askedAt }): readonly WaitingRequest[] => {
      const session = listed.get(question.sessionId);
      const isWanted = sessionId === undefined ? cwd === undefined || session?.cwd === cwd : session?.id === sessionId;
      return isWanted ? [{ question, askedAt, isRunning: session === undefined || isOpen(session) }] : [];
    });
  };

  const option = ` --server ${maskAddress(url)}`;
  return {
    option,
    list: async ({ cwd } = {}) => {
      const sessions = await allSessions();
      return sessions.filter((session) => cwd === undefined || session.cwd === cwd).map(hostSession);
    },
    unlisted: () => undefined,
    find: async (id) => hostSession(sessionIn(await allSessions(), id, option)),
    agents,
    transcript,
    transcripts: async (session) => {
      const transcripts: HostTranscript[] = [];
      for (const { agentId } of await agents(session)) transcripts.push(await transcript(session, agentId));
      return transcripts;
    },
    follow: async function* (session, following) {
      try {
        yield* followOn(opened(session), following);
      } catch (error) {
        throw explain(error);
      }
    },
    waitingPrompts: async (session) => (await asked(opened(session).queue())).map(({ promptId }) => promptId),
    steer: async (session, command, signal) => {
      refuseAgentCommand("steer a session");
      return {
        isRunning: true,
        receipt: await receiptWithin(signal, (ends) => opened(session).send(command, ends)).catch((error: unknown) => {
          throw explain(error);
        }),
      };
    },
    approvals,
    answer: async (answering) => {
      refuseAgentCommand("answer for a person");
      const request = matchRequest(
        await approvals({}),
        answering.request,
        `"retinue approvals list${option}" shows the requests.`,
      );
      const { sessionId, requestId } = request.question;
      const { cwd } = sessionIn(await allSessions(), sessionId, option);
      const answer = await answerFor(request.question, { ...answering, by: userName(), cwd });
      await asked(client.sessions.open(sessionId).answer(requestId, answer));
      return { request, answer };
    },
  };
}

function requestTexts({ question }: WaitingApproval): readonly unknown[] {
  return isRecord(question) ? [question.requestId, question.sessionId, question.agentId] : [undefined];
}

/** Time to wait for a server's response. */
const RESPONSE_MS = 10_000;

/** Waits for a promise, and rejects with its own error if the promise takes too long to settle. */
async function withinTime<Value>(promise: Promise<Value>, tooLate: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), RESPONSE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function silentServer({ origin }: URL): UserError {
  return new UserError(`The server ${origin} has not answered within ${RESPONSE_MS / 1_000} seconds`, {
    code: "no_answer",
    fix: "Check that its process is running and not suspended, then try again.",
    exitCode: exitCodes.incomplete,
  });
}

/** Returns a receipt; undefined if the signal fires or time runs out first. The command is not withdrawn. */
async function receiptWithin(
  signal: AbortSignal,
  send: (ends: { readonly signal: AbortSignal }) => Promise<Receipt>,
): Promise<Receipt | undefined> {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  const timer = setTimeout(leave, RESPONSE_MS);
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  try {
    return await send({ signal: leaving.signal });
  } catch (error) {
    if (leaving.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

function hostSession(session: SessionInfo): HostSession {
  const { id, cwd, createdAt, updatedAt, title, outcome, turns, model, detail, state } = session;
  return {
    id,
    cwd,
    createdAt,
    updatedAt,
    firstPrompt: title,
    lastOutcome: outcome,
    lastReason: session.reason,
    unpriced: session.unpriced,
    verified: undefined,
    turns,
    model,
    inUse: isOpen(session),
    isIdle: state === "idle",
    waitingPrompts: session.waitingPrompts ?? 0,
    damaged: state === "ended" ? detail : undefined,
    waitsFor: state === "parked" && detail !== undefined ? session.worker : undefined,
    wasStopped: (state === "ended" && session.reason === "parked") || undefined,
  };
}

export function isOpen({ state }: SessionInfo): boolean {
  return state !== "parked" && state !== "ended";
}

async function* followOn(
  session: ClientSession,
  { signal, onCaughtUp, report }: Following,
): AsyncGenerator<SessionUpdate> {
  // Finds where the recorded lines end, from the main agent's last line. At most a few lines from other agents have
  // higher numbers.
  let last = 0;
  for await (const { seq = 0 } of session.lines()) last = seq;
  let isCaughtUp = false;
  const catchUp = (): void => {
    if (!isCaughtUp) onCaughtUp();
    isCaughtUp = true;
  };
  let isLost = false;
  const updates = session.events({
    signal,
    onState: (state) => {
      if (state.state === "lost" && !isLost) report(`${state.error.detail} Trying to connect again.`);
      if (state.state === "connected" && isLost) report("The connection is back.");
      isLost = state.state === "lost";
    },
  });
  for await (const { agentId, seq, event } of updates) {
    yield { agentId, seq, event };
    if ((seq ?? 0) >= last) catchUp();
  }
  catchUp();
}

async function allOf(lines: AsyncIterable<Line>): Promise<readonly Line[]> {
  const all: Line[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

function addressOf(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address !== undefined && ["http:", "https:"].includes(address.protocol)) return address;
  throw usageError(
    `--server can't be "${maskAddress(url)}"`,
    "Use the URL of a server, such as http://127.0.0.1:7333.",
  );
}

interface FoundToken {
  readonly token: string | (() => string);
  /** `own`: the token belongs to this user's server on this machine and can't approve calls. */
  readonly origin: "given" | "own" | "none";
}

/** Finds the token for a server: RETINUE_TOKEN, or the one in `server.json` if that names the same server. */
function tokenFor(address: URL, home: string): FoundToken {
  const given = process.env["RETINUE_TOKEN"]?.trim();
  const own = readOwnServer(home);
  if (given) return { token: given, origin: given === own?.token ? "own" : "given" };
  // A server has a new token each time it is started.
  if (own !== undefined && isSameServer(address, own.url))
    return { token: () => readOwnServer(home)?.token ?? own.token, origin: "own" };
  // There may be no server; the first request will show that.
  return { token: "none", origin: "none" };
}

const SET_TOKEN = "Set RETINUE_TOKEN to the token in the link that `retinue serve` printed.";

/** Returns whether two addresses are those of the same server. `localhost` and 127.0.0.1 are the same machine. */
function isSameServer(address: URL, other: string): boolean {
  const { protocol, port, hostname } = new URL(other);
  const isHere = (name: string): boolean => name === "localhost" || isLoopback(name.replace(/^\[|\]$/g, ""));
  const isSameHost = address.hostname === hostname || (isHere(address.hostname) && isHere(hostname));
  return isSameHost && address.protocol === protocol && address.port === port;
}

function explained(
  error: ClientError,
  { address, origin }: { readonly address: URL; readonly origin: FoundToken["origin"] },
): UserError {
  const { status, code, detail } = error;
  if (status === 403 && origin === "own")
    return new UserError("The token that this command found for the server does not allow that", {
      code,
      fix: SET_TOKEN,
      exitCode: 2,
      cause: error,
    });
  if (status === 401)
    return new UserError(
      origin === "none"
        ? `There is no token for the server ${address.origin}`
        : `The server ${address.origin} does not accept the token`,
      {
        code,
        fix: SET_TOKEN,
        exitCode: 2,
        cause: error,
      },
    );
  if (code === "not_found")
    return new UserError(`${address.href} is not the address of a Retinue server`, {
      code,
      fix: "Use the URL that `retinue serve` prints, without a path.",
      exitCode: 2,
      cause: error,
    });
  const isUsage = status >= 400 && status < 500 && status !== 409 && !error.isTemporary;
  return new UserError(detail, { code, exitCode: isUsage ? 2 : 1, cause: error });
}
