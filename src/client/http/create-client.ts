import { isRecord } from "../../lib/portable.ts";
import {
  type AgentColor,
  type AgentDraft,
  type AgentFileCheck,
  type AgentId,
  type AgentInfo,
  type AgentReport,
  type ApprovalAnswer,
  type Command,
  type ContextReport,
  type Diagnostic,
  fromWire,
  type Line,
  type LineId,
  MAIN_AGENT,
  type NewSession,
  type PastPrompt,
  type PromptId,
  type Receipt,
  type ServerEvent,
  type SessionClosed,
  type SessionId,
  type SessionInfo,
  type SessionSnapshot,
  type UserBlock,
  type WaitingApproval,
  type WireUpdate,
  type WorkerInfo,
  type WrittenAgent,
} from "../../protocol/index.ts";
import type { ViewUpdate } from "../view/fold-session.ts";
import { type FoldedSession, PartReader, type ViewPart, type ViewProgress } from "../view/folded-session.ts";
import type { QueuedPrompt } from "../view/session-view.ts";
import { type ClientOptions, type Connection, type ConnectionState, createConnection } from "./connection.ts";

/** Client for a server. Every method rejects with a `ClientError` if the request fails. */
export interface Client {
  readonly sessions: {
    /** Lists the sessions, newest first. */
    list(): Promise<readonly SessionInfo[]>;
    create(session?: NewSession): Promise<SessionInfo>;
    /** Returns an object for the session with this complete id, without sending a request. */
    open(id: SessionId): ClientSession;
    delete(id: SessionId): Promise<void>;
  };
  readonly approvals: {
    /** Lists all sessions' requests that are waiting for an answer, oldest first. */
    list(): Promise<readonly WaitingApproval[]>;
  };
  /** Lists the agents that can be started in a worker's directory. */
  agents(worker?: string): Promise<AgentCatalog>;
  readonly agentFiles: AgentFiles;
  workers(): Promise<readonly WorkerInfo[]>;
  /**
   * Yields a list of all sessions, approvals and workers, then changes to it. Starts over after each new connection.
   */
  events(options?: WatchOptions): AsyncIterable<ServerEvent>;
}

/** Agent definitions in a worker's directory; defaults to the server's directory. */
export interface AgentFiles {
  /** Explains an agent: its tools, its tokens and its problems. */
  report(name: string, worker?: string): Promise<AgentReport>;
  /** Checks a new agent, or new text for an agent's file. Changes nothing. */
  check(
    draft: AgentDraft | { readonly agent: string; readonly text: string },
    worker?: string,
  ): Promise<AgentFileCheck>;
  /** Writes a new agent's file. The token must have the `approve` scope. */
  create(draft: AgentDraft, worker?: string): Promise<WrittenAgent>;
  /** Replaces an agent's file, if its content still has this hash. Needs the `approve` scope. */
  change(
    name: string,
    content: { readonly text: string; readonly hash: string },
    worker?: string,
  ): Promise<WrittenAgent>;
}

/** A session on a server. Commands have ids and are carried out once; by default, each call sends a new command. */
export interface ClientSession {
  readonly id: SessionId;
  info(): Promise<SessionInfo>;
  /** Sends a prompt to the main agent. */
  prompt(prompt: string | readonly UserBlock[], options?: PromptOptions): Promise<Receipt>;
  /** Sends a message to an agent, given as `main`, its name, its id or part of its id. */
  message(to: string, message: string | readonly UserBlock[], options?: PromptOptions): Promise<Receipt>;
  /** Sends a command. If the signal fires, stops waiting for the receipt; the server still carries out the command. */
  send(command: NewCommand, options?: { readonly signal?: AbortSignal | undefined }): Promise<Receipt>;
  /** Stops an agent; `turn`: the main agent's run; `tree`: all agents (the default). */
  stop(what?: string): Promise<Receipt>;
  /** Continues an agent whose last run ended early; by default, the main agent. */
  resume(agent?: string): Promise<Receipt>;
  background(agent: string): Promise<Receipt>;
  foreground(agent: string): Promise<Receipt>;
  /** Replaces a prompt in the queue. It keeps its place. */
  edit(promptId: PromptId, prompt: string | readonly UserBlock[]): Promise<Receipt>;
  /** Removes a prompt from the queue. */
  withdraw(promptId: PromptId): Promise<Receipt>;
  /** Changes the permission mode, which needs the `approve` scope, or the model, starting with the next prompt. */
  configure(changes: Pick<Extract<Command, { type: "configure" }>, "permissionMode" | "model">): Promise<Receipt>;
  /**
   * Changes the limit on the total cost of all agents, in US dollars. Needs the `approve` scope. The session must not
   * be working.
   */
  limit(limits: { readonly maxCost: number }): Promise<SessionInfo>;
  /** Replaces the main agent's conversation with a summary. */
  compact(instructions?: string): Promise<Receipt>;
  /** Lists the prompts in the conversation that `rewind` can go back to, oldest first. */
  prompts(): Promise<readonly PastPrompt[]>;
  /**
   * Goes back to the conversation before a prompt. Also restores files that tools have changed since, unless `files` is
   * false.
   */
  rewind(promptId: LineId, options?: { readonly files?: boolean | undefined }): Promise<Receipt>;
  /** Answers a request for approval. The token must have the `approve` scope. */
  answer(requestId: string, answer: NewAnswer): Promise<Receipt>;
  /** Lists the agents: the main agent, then the subagents, oldest first. */
  agents(): Promise<readonly AgentInfo[]>;
  /** Yields the lines of an agent's transcript, in order. */
  lines(agentId?: AgentId, options?: LineOptions): AsyncIterable<Line>;
  /** Reports what fills an agent's context window. */
  context(agentId?: AgentId): Promise<ContextReport>;
  /** Returns a call's complete output if the transcript contains only part of it. */
  result(resultId: string): Promise<string>;
  queue(): Promise<readonly Omit<QueuedPrompt, "agentId">[]>;
  /**
   * Yields the updates of all agents in order, each durable one exactly once: those after a position, then new ones and
   * live events. If the connection is lost, the client reconnects and continues where it stopped. Ends when the session
   * is closed or the signal fires. Throws a `ClientError` for a problem that retrying can't solve, such as a token that
   * is no longer valid.
   */
  events(options?: EventOptions): AsyncIterable<ViewUpdate>;
}

/** Options for reading an agent's lines. */
export interface LineOptions {
  /** Called with the numbers of lines in the agent's file that can't be read and were skipped, if there are any. */
  readonly onSkipped?: ((lines: readonly number[]) => void) | undefined;
}

/** Options for sending a prompt or a message. */
export interface PromptOptions {
  /** Id of the command. Sending it again with the same id has no effect. */
  readonly id?: string | undefined;
  /** `now` (default): the agent reads it before its next step. `next`: a new run starts with it after the current one. */
  readonly when?: "now" | "next" | undefined;
}

/** A command whose id may be left out. */
export type NewCommand = Command extends infer Each
  ? Each extends Command
    ? Omit<Each, "id"> & { readonly id?: string | undefined }
    : never
  : never;

/** An answer to a request for approval. If `by` is absent, the server records the name of the user who runs it. */
export type NewAnswer = Omit<ApprovalAnswer, "by"> & { readonly by?: string | undefined };

/** Options for following a stream. */
export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called when the connection is established, and when it is lost. */
  readonly onState?: ((state: ConnectionState) => void) | undefined;
}

/** Options for following a session's events. */
export interface EventOptions extends WatchOptions {
  /** Position of the last update that you have received; 0 (default) for all updates. */
  readonly after?: number | undefined;
  /** Called after each connection with the session's state and all requests that are waiting for an answer. */
  readonly onSnapshot?: ((snapshot: SessionSnapshot) => void) | undefined;
  /**
   * If set and `after` is 0, the server sends the session's current state instead of its past events, and this function
   * is called with that state before the first update. The agents' items are left out; `openAgent` restores them.
   */
  readonly onView?: ((folded: FoldedSession) => void) | undefined;
  /** Called while that state is being read and sent, with how much of it has arrived. */
  readonly onLoading?: ((progress: ViewProgress) => void) | undefined;
  /** Called before the iteration ends because the session was closed. */
  readonly onClosed?: ((closed: SessionClosed) => void) | undefined;
}

/** Agents that can be started in a directory, and problems in their files. */
export interface AgentCatalog {
  readonly agents: readonly {
    readonly name: string;
    readonly source: string;
    readonly description: string;
    /** Absolute path of the agent's file; null if it has none. */
    readonly file?: string | null | undefined;
    /** Number of tokens that the agent's line takes up in the list of agents for models. */
    readonly tokens?: number | undefined;
    readonly denied?: string | null | undefined;
    readonly color?: AgentColor | null | undefined;
  }[];
  readonly switchedOff: readonly { readonly name: string; readonly reason: string }[];
  readonly diagnostics: readonly Diagnostic[];
  readonly trusted: boolean;
  readonly root: string;
  /** Files that were not read because the directory is not trusted. */
  readonly off: readonly string[];
  /** Number of tokens in the list of agents for models. */
  readonly tokens: number;
}

/**
 * Creates a client for a server. Connects only when a method is called.
 *
 * ```ts
 * const client = createClient({ url: "http://127.0.0.1:7333", token });
 * const { id } = await client.sessions.create();
 * await client.sessions.open(id).prompt("Find the entry points.");
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const connection = createConnection(options);
  const { json, request, stream } = connection;
  return {
    sessions: {
      list: () => json("GET", "/session"),
      create: (session = {}) => json("POST", "/session", { body: session }),
      open: (id) => openSession(connection, id),
      delete: async (id) => void (await request("DELETE", pathTo(id))),
    },
    approvals: { list: () => json("GET", "/approval") },
    agents: (worker) => json("GET", `/agent${queryFor(worker)}`),
    agentFiles: {
      report: (name, worker) => json("GET", `/agent/${encodeURIComponent(name)}${queryFor(worker)}`),
      check: (draft, worker) =>
        json("POST", "/agent/check", { body: "text" in draft ? { ...draft, worker } : { draft, worker } }),
      create: (draft, worker) => json("POST", "/agent", { body: { draft, worker } }),
      change: (name, content, worker) =>
        json("POST", `/agent/${encodeURIComponent(name)}/file`, { body: { ...content, worker } }),
    },
    workers: () => json("GET", "/worker"),
    events: async function* (watching = {}) {
      for await (const { data } of stream("/event", watching)) {
        const event = parsed<ServerEvent>(data);
        if (event !== undefined) yield event;
      }
    },
  };
}

function openSession(connection: Connection, id: SessionId): ClientSession {
  const { json, request } = connection;
  const path = pathTo(id);
  const send: ClientSession["send"] = (command, { signal } = {}) =>
    json("POST", `${path}/command`, { body: { ...command, id: command.id ?? newCommandId() }, signal });
  const message: ClientSession["message"] = (to, given, { id: messageId = newCommandId(), when } = {}) => {
    const content = typeof given === "string" ? { prompt: given } : { content: given };
    return json("POST", `${path}/message`, { body: { ...content, to, when, id: messageId } });
  };
  return {
    id,
    info: () => json("GET", path),
    prompt: (prompt, options) => message(MAIN_AGENT, prompt, options),
    message,
    send,
    stop: (what = "tree") => send({ type: "stop", what }),
    resume: (agent = MAIN_AGENT) => send({ type: "resume", agent }),
    background: (agent) => send({ type: "background", agent }),
    foreground: (agent) => send({ type: "foreground", agent }),
    edit: (promptId, prompt) =>
      send({ type: "edit", promptId, content: typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt }),
    withdraw: (promptId) => send({ type: "withdraw", promptId }),
    configure: (changes) => send({ type: "configure", ...changes }),
    limit: (limits) => json("POST", `${path}/limit`, { body: limits }),
    compact: (instructions) => send({ type: "compact", instructions }),
    prompts: () => json("GET", `${path}/prompt`),
    rewind: (to, { files = true } = {}) => send({ type: "rewind", to, files }),
    answer: (requestId, answer) => json("POST", `${path}/approval/${encodeURIComponent(requestId)}`, { body: answer }),
    agents: () => json("GET", `${path}/agent`),
    lines: async function* (agentId = MAIN_AGENT, { onSkipped } = {}) {
      let after: string | undefined;
      do {
        const query = `limit=1000${after === undefined ? "" : `&after=${after}`}`;
        const page: LinePage = await json("GET", `${path}/agent/${encodeURIComponent(agentId)}/line?${query}`);
        if (after === undefined && page.skipped !== undefined) onSkipped?.(page.skipped);
        yield* page.lines;
        after = page.next;
      } while (after !== undefined);
    },
    context: (agentId = MAIN_AGENT) => json("GET", `${path}/agent/${encodeURIComponent(agentId)}/context`),
    result: async (resultId) => (await request("GET", `${path}/result/${encodeURIComponent(resultId)}`)).text(),
    queue: () => json("GET", `${path}/queue`),
    events: (options) => updatesOf(connection, `${path}/event`, options),
  };
}

interface LinePage {
  readonly lines: readonly Line[];
  /** Id of the last line, if there are more. */
  readonly next?: string | undefined;
  readonly skipped?: readonly number[] | undefined;
}

async function* updatesOf(
  { stream }: Connection,
  path: string,
  { after = 0, signal, onState, onSnapshot, onLoading, onView, onClosed }: EventOptions = {},
): AsyncGenerator<ViewUpdate> {
  let position = after;
  const parts = new PartReader();
  const target = onView === undefined ? path : `${path}?view=true`;
  for await (const { id, data } of stream(target, { signal, onState, position: () => position })) {
    const event = parsed<WireUpdate | SessionSnapshot | SessionClosed | ViewPart>(data);
    if (event?.type === "session_snapshot") onSnapshot?.(event);
    else if (isViewPart(event)) {
      const folded = parts.add(event);
      onLoading?.(parts.progress);
      if (folded === undefined) continue;
      position = folded.view.seq;
      onView?.(folded);
    } else if (event?.type === "session_closed") {
      // The session continues after the server restarts.
      if (event.reason === "server_stopped") continue;
      onClosed?.(event);
      return;
    } else {
      const seq = id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
      if (seq !== undefined && !(seq > position)) continue;
      if (seq !== undefined) position = seq;
      const update = event && fromWire(event);
      if (event === undefined || update === undefined) continue;
      yield event.type === "subagent_event"
        ? { ...update, seq, agentType: event.agentType, path: event.path }
        : { ...update, seq };
    }
  }
}

function isViewPart(event: { readonly type: string } | undefined): event is ViewPart {
  return event?.type.startsWith("view_") === true;
}

/** Parses an event's data. Returns undefined for data that is not an event, which a newer server may send. */
function parsed<Value extends object>(data: string): Value | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isRecord(value) && typeof value["type"] === "string" ? (value as Value) : undefined;
  } catch {
    return undefined;
  }
}

function queryFor(worker: string | undefined): string {
  return worker === undefined ? "" : `?worker=${encodeURIComponent(worker)}`;
}

function pathTo(id: SessionId): string {
  return `/session/${encodeURIComponent(id)}`;
}

/** Creates an id. `crypto.randomUUID` is available only in pages that were loaded over HTTPS or from this machine. */
function newCommandId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `command_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
