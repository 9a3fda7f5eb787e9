import type {
  AnswerRequest,
  ListedAgent,
  ListedRequest,
  NewCommand,
  SessionSummary,
  SteerResult,
} from "../../app/index.ts";
import type { AgentId, ApprovalAnswer, Line, PromptId, SessionId, SessionUpdate } from "../../protocol/index.ts";
import type { OptionKind } from "../read-options.ts";

/** Gives commands access to sessions, either in files on this machine or on a server. */
export interface SessionHost {
  /** The option that selects the host in commands shown to the user: empty, or ` --server URL`. */
  readonly option: string;
  /** Lists sessions, newest first. */
  list(search?: { readonly cwd?: string | undefined }): Promise<readonly HostSession[]>;
  /**
   * Says how many sessions or requests the host can't list, because they belong to workers. Returns undefined if it can
   * list all of them.
   */
  unlisted(what: "sessions" | "requests"): string | undefined;
  /** Finds a session by its id, or by the start or end of the id. Throws a `UserError` unless exactly one matches. */
  find(id: string): Promise<HostSession>;
  /** Lists the subagents of a session, oldest first. */
  agents(session: HostSession): Promise<readonly ListedAgent[]>;
  transcript(session: HostSession, agentId: AgentId): Promise<HostTranscript>;
  /** Returns the transcripts of the subagents, oldest first. With `unfinished`, those that succeeded may be left out. */
  transcripts(session: HostSession, which: "all" | "unfinished"): Promise<readonly HostTranscript[]>;
  /** Yields all agents' lines, then new ones as they are written, until the session ends. */
  follow(session: HostSession, following: Following): AsyncIterable<SessionUpdate>;
  /** Returns the ids of the prompts that no agent has received, oldest first. */
  waitingPrompts(session: HostSession): Promise<readonly PromptId[]>;
  /** Sends a command and waits for its receipt, until the signal fires. */
  steer(session: HostSession, command: NewCommand, signal: AbortSignal): Promise<SteerResult>;
  /** Lists the requests for approval that are waiting for an answer, oldest first. */
  approvals(search: {
    readonly cwd?: string | undefined;
    readonly sessionId?: SessionId | undefined;
  }): Promise<readonly WaitingRequest[]>;
  /**
   * Answers a request. Throws a `UserError` if the request is not waiting for an answer, or if this user may not answer
   * it.
   */
  answer(answering: Omit<AnswerRequest, "home" | "by">): Promise<GivenAnswer>;
}

/** A session. Sessions on a server have no files on this machine. */
export interface HostSession
  extends Omit<SessionSummary, "project" | "path">,
    Partial<Pick<SessionSummary, "project" | "path">> {
  /** Whether a process has the session open, but no agent has anything to do. */
  readonly isIdle: boolean;
  /** Number of prompts that no agent has received: in the queue, or sent while the session was not running. */
  readonly waitingPrompts: number;
  /**
   * Name of the worker that a server's parked session is waiting for. The session continues automatically when the
   * worker returns.
   */
  readonly waitsFor?: string | undefined;
  /** Whether a server's parked session was stopped, so that it does not continue automatically. */
  readonly wasStopped?: boolean | undefined;
}

export interface HostTranscript extends ListedAgent {
  readonly lines: readonly Line[];
  readonly problems: readonly string[];
}

export interface Following {
  readonly signal: AbortSignal;
  /** Called once, when all previously recorded lines have been returned. */
  readonly onCaughtUp: () => void;
  /** Called with a message for the user when the connection is lost or restored. */
  readonly report: (message: string) => void;
}

export type WaitingRequest = Pick<ListedRequest, "question" | "askedAt" | "isRunning">;

export interface GivenAnswer {
  readonly request: WaitingRequest;
  readonly answer: ApprovalAnswer;
}

export const serverOption: OptionKind = { value: "URL" };
