import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import {
  canonicalJson,
  createId,
  errorCode,
  FileCache,
  hashTexts,
  isRecord,
  lastOwner,
  openAppendFile,
  type ProcessIdentity,
  parseJsonLines,
} from "../../lib/index.ts";
import type { Clock, CountedAnswer, Inbox } from "../../ports/index.ts";
import type {
  ApprovalAnswer,
  ApprovalQuestion,
  Command,
  InboxLine,
  Receipt,
  Rule,
  SessionId,
} from "../../protocol/index.ts";
import { type SessionSearch, sessionPlaces } from "../catalog/list-sessions.ts";
import { isInUse } from "../catalog/summarize-session.ts";
import { createDiskRetry, type DiskRetryOptions } from "../journal/disk-retry.ts";
import { sessionPaths, sessionPathsIn } from "../session-paths.ts";

export interface InboxOptions extends Pick<DiskRetryOptions, "onTrouble" | "stopWaiting"> {
  /** Path of the inbox file; undefined to keep the inbox only in memory. */
  readonly path: string | undefined;
  readonly clock: Pick<Clock, "now">;
}

/** Interval at which the inbox checks whether another process has added an answer. */
const LOOK_EVERY_MS = 100;

type NewLine = InboxLine extends infer Line ? (Line extends InboxLine ? Omit<Line, "v" | "at"> : never) : never;

/** Opens a session's inbox. Any number of processes may have it open at the same time. */
export function openInbox({ path, clock, onTrouble, stopWaiting }: InboxOptions): Inbox {
  const retry = createDiskRetry({ onTrouble, stopWaiting });
  /** Watchers, and whether each is idle. */
  const watchers = new Map<() => void, boolean>();
  let state: InboxState = emptyInbox;
  let size = -1;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function look(): void {
    if (path === undefined) return;
    const now = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (now === size) return;
    state = readInbox(path, state);
    size = now;
    for (const onChange of [...watchers.keys()]) onChange();
  }

  function lookAgain(): void {
    try {
      look();
    } catch {
      // The file can't be read now, but may be readable at the next check.
    }
  }

  /** Keeps the process alive as long as there is a watcher that is not idle. */
  function keepAlive(): void {
    const isNeeded = [...watchers.values()].some((idle) => !idle);
    if (isNeeded) timer?.ref();
    else timer?.unref();
  }

  /**
   * Writes a line. Resolves when the line is safe from a power cut. Writes are sequential, so that `lineFor` sees all
   * previous lines.
   */
  function write(lineFor: () => NewLine | undefined, { retryWrite = true } = {}): Promise<void> {
    const written = writing.then(async () => {
      const line = lineFor();
      if (line === undefined) return;
      const whole = { v: 1, at: clock.now(), ...line } as InboxLine;
      if (path === undefined) {
        state = foldInbox([...state.lines, whole], state);
        for (const onChange of [...watchers.keys()]) onChange();
        return;
      }
      const text = `${JSON.stringify(whole)}\n`;
      await (retryWrite ? retry.run(() => append(path, text)) : append(path, text));
      look();
    });
    writing = written.catch(() => {});
    return written;
  }

  const isOpen = (requestId: string): boolean => openRequests(state).some((each) => each.requestId === requestId);

  look();
  return {
    request: (question) =>
      write(() => {
        const entry = state.requests.get(question.requestId);
        return entry === undefined || entry.isWithdrawn ? { type: "approval.requested", ...question } : undefined;
      }),
    async answer(requestId, answer) {
      const answerId = createId("answer_");
      await write(() => {
        look();
        const inputHash = state.requests.get(requestId)?.question.inputHash;
        if (inputHash === undefined || !isOpen(requestId)) return undefined;
        return { ...answer, type: "approval.answered", answerId, requestId, inputHash };
      });
      return counted(state, requestId, answerId);
    },
    // Stopping a run does not wait for disk space, because a request that stays open does no harm.
    withdraw: (requestId, reason) =>
      write(() => (isOpen(requestId) ? { type: "approval.withdrawn", requestId, reason } : undefined), {
        retryWrite: false,
      }).catch(() => {}),
    answerTo: (requestId) => state.requests.get(requestId)?.answer?.answer,
    open: () => openRequests(state),
    rules: () => state.rules,
    askedCalls: (agentId) =>
      [...state.requests.values()].flatMap(({ question, isWithdrawn }) =>
        question.agentId === agentId && !isWithdrawn ? [question.call.callId] : [],
      ),
    send: (command) => write(() => (state.commands.has(command.id) ? undefined : { type: "command.sent", command })),
    commands: () => [...state.commands.values()].filter(({ id }) => !state.receipts.has(id)),
    settle: (receipt, command) => write(() => ({ type: "command.settled", receipt, hash: hashCommand(command) })),
    receiptOf: (commandId) => state.receipts.get(commandId),
    isIdInUse: (command) => (state.hashes.get(command.id) ?? hashCommand(command)) !== hashCommand(command),
    watch(onChange, { idle = false } = {}) {
      watchers.set(onChange, idle);
      timer ??= path === undefined ? undefined : setInterval(lookAgain, LOOK_EVERY_MS);
      keepAlive();
      return () => {
        watchers.delete(onChange);
        keepAlive();
        if (watchers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

/** Hashes a command regardless of the order of its fields. */
export function hashCommand(command: Command): string {
  return hashTexts([canonicalJson(command)]);
}

function openRequests({ requests }: InboxState): readonly ApprovalQuestion[] {
  return [...requests.values()].flatMap(({ question, answer, isWithdrawn }) =>
    answer === undefined && !isWithdrawn ? [question] : [],
  );
}

function counted({ requests }: InboxState, requestId: string, answerId: string): CountedAnswer | undefined {
  const given = requests.get(requestId)?.answer;
  return given && { answer: given.answer, isOwn: given.answerId === answerId };
}

/**
 * Appends a line. Opens the file each time, because an inbox is rarely written to and another process may have left a
 * torn line.
 */
async function append(path: string, text: string): Promise<void> {
  const file = openAppendFile(path, { createDirectory: true });
  try {
    file.append(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The inbox of a session that another process may have open. */
export interface FoundInbox {
  readonly path: string;
  /** Path of the main agent's transcript. */
  readonly transcriptPath: string;
  /** Returns whether a process has the session open now. */
  readonly isRunning: () => boolean;
}

/** Returns the path of a session's inbox, given the path of the main agent's transcript. */
export function inboxOf(transcriptPath: string): string {
  return sessionPathsIn(dirname(transcriptPath), basename(transcriptPath, ".jsonl")).inbox;
}

/** Finds the inbox of an existing session. */
export function findInbox({ home, sessionId }: { readonly home: string; readonly sessionId: SessionId }): FoundInbox {
  const place = sessionPlaces({ home }).find((each) => each.sessionId === sessionId);
  if (place === undefined) throw new Error(`There is no session ${sessionId}.`);
  const paths = sessionPaths(place);
  return { path: paths.inbox, transcriptPath: paths.transcript, isRunning: () => isInUse(paths) };
}

export interface ListedRequest {
  readonly question: ApprovalQuestion;
  readonly askedAt: number;
  readonly status: "waiting" | "answered" | "withdrawn";
  readonly answer?: ApprovalAnswer | undefined;
  readonly inboxPath: string;
  /** The session's process, even if it was killed. */
  readonly process?: ProcessIdentity | undefined;
  /** Whether the session is running. If not, an answer is stored until the session is resumed. */
  readonly isRunning: boolean;
}

export interface RequestSearch extends SessionSearch {
  /** Restricts the search to one session. The id must be complete. */
  readonly sessionId?: SessionId;
}

/** Lists all approval requests in the sessions, grouped by session, oldest first. */
export function listRequests({
  sessionId,
  cache = new FileCache(),
  ...search
}: RequestSearch): readonly ListedRequest[] {
  return sessionPlaces(search)
    .filter((place) => sessionId === undefined || place.sessionId === sessionId)
    .flatMap((place) => {
      const paths = sessionPaths(place);
      if (!existsSync(paths.inbox)) return [];
      const isRunning = isInUse(paths);
      const process = lastOwner(paths.lock);
      const { requests } = cache.get(paths.inbox, () => readInbox(paths.inbox));
      return [...requests.values()].map(
        ({ question, askedAt, answer, isWithdrawn }): ListedRequest => ({
          question,
          askedAt,
          status: answer ? "answered" : isWithdrawn ? "withdrawn" : "waiting",
          answer: answer?.answer,
          inboxPath: paths.inbox,
          process,
          isRunning,
        }),
      );
    });
}

/** Reads the current state of an inbox file. */
function readInbox(path: string, before: InboxState = emptyInbox): InboxState {
  try {
    const { records } = parseJsonLines(readFileSync(path));
    return foldInbox(
      records.map(({ value }) => value),
      before,
    );
  } catch (error) {
    if (errorCode(error) === "ENOENT") return emptyInbox;
    throw error;
  }
}

interface InboxState {
  readonly lines: readonly InboxLine[];
  /** Requests by id, oldest first. */
  readonly requests: ReadonlyMap<string, InboxEntry>;
  /** Rules from "always" answers. The same array is kept as long as no rule is added. */
  readonly rules: readonly Rule[];
  /** Commands from other processes by id, oldest first. */
  readonly commands: ReadonlyMap<string, Command>;
  /** Receipts by command id, including those for commands from the session's own process. */
  readonly receipts: ReadonlyMap<string, Receipt>;
  /** Hashes of commands, keyed by command id. */
  readonly hashes: ReadonlyMap<string, string>;
}

interface InboxEntry {
  readonly question: ApprovalQuestion;
  /** Time of the request, in milliseconds since 1970. */
  readonly askedAt: number;
  readonly answer?: { readonly answerId: string; readonly answer: ApprovalAnswer };
  readonly isWithdrawn: boolean;
}

export const emptyInbox: InboxState = {
  lines: [],
  requests: new Map(),
  rules: [],
  commands: new Map(),
  receipts: new Map(),
  hashes: new Map(),
};

/**
 * Computes the state of an inbox from its lines. An answer is valid if it is the first one after its request and has
 * the same input hash, and if the request has not been withdrawn. Only the first command with an id is used, and only
 * the first receipt for it. Unknown lines are ignored.
 */
export function foldInbox(lines: readonly unknown[], before: InboxState): InboxState {
  const read = lines.filter(isInboxLine);
  const requests = new Map<string, InboxEntry>();
  const rules = new Set<string>();
  const commands = new Map<string, Command>();
  const receipts = new Map<string, Receipt>();
  const hashes = new Map<string, string>();
  for (const line of read) {
    if (line.type === "command.sent") {
      const { command } = line;
      if (!commands.has(command.id)) commands.set(command.id, command);
      if (!hashes.has(command.id)) hashes.set(command.id, hashCommand(command));
      continue;
    }
    if (line.type === "command.settled") {
      const { hash, receipt } = line;
      if (!receipts.has(receipt.commandId)) receipts.set(receipt.commandId, receipt);
      if (hash !== undefined && !hashes.has(receipt.commandId)) hashes.set(receipt.commandId, hash);
      continue;
    }
    const { requestId } = line;
    const entry = requests.get(requestId);
    if (line.type === "approval.requested") {
      const { v: _v, at: askedAt, type: _type, ...question } = line;
      if (entry === undefined || entry.isWithdrawn) requests.set(requestId, { question, askedAt, isWithdrawn: false });
      continue;
    }
    if (entry === undefined || entry.answer || entry.isWithdrawn) continue;
    if (line.type === "approval.withdrawn") {
      requests.set(requestId, { ...entry, isWithdrawn: true });
    } else if (line.inputHash === entry.question.inputHash) {
      const { answer: effect, by, message, inputJson, always, replies } = line;
      const answer: ApprovalAnswer = { answer: effect, by, message, inputJson, always, replies };
      requests.set(requestId, { ...entry, answer: { answerId: line.answerId, answer } });
      if (answer.answer === "allow" && answer.always !== undefined) rules.add(answer.always.rule);
    }
  }
  return { lines: read, requests, rules: sameOr(before.rules, rules), commands, receipts, hashes };
}

function sameOr(before: readonly Rule[], texts: ReadonlySet<string>): readonly Rule[] {
  if (before.length === texts.size && before.every(({ text }) => texts.has(text))) return before;
  return [...texts].map((text) => ({ text, effect: "allow", scope: "session" }));
}

/**
 * Returns whether a value is a valid inbox line. Checks every field that is used, because any program with access to
 * the file may have written it.
 */
function isInboxLine(value: unknown): value is InboxLine {
  if (!isRecord(value) || value["v"] !== 1 || typeof value["at"] !== "number") return false;
  if (value["type"] === "command.sent") return isCommand(value["command"]);
  if (value["type"] === "command.settled")
    return isReceipt(value["receipt"]) && (value["hash"] === undefined || isText(value["hash"]));
  if (!isText(value["requestId"])) return false;
  switch (value["type"]) {
    case "approval.requested":
      return isQuestion(value);
    case "approval.answered":
      return isAnswer(value);
    default:
      return value["type"] === "approval.withdrawn";
  }
}

function isQuestion(value: Record<string, unknown>): boolean {
  const { call, decision, always, path } = value;
  const hasTexts = ["sessionId", "kind", "agentId", "agentType", "inputHash"].every((key) => isText(value[key]));
  const isCall = isRecord(call) && ["callId", "name", "inputJson"].every((key) => isText(call[key]));
  const isDecision = isRecord(decision) && ["effect", "rule", "scope", "reason"].every((key) => isText(decision[key]));
  return hasTexts && isCall && isDecision && isTexts(always) && isTexts(path);
}

function isAnswer(value: Record<string, unknown>): boolean {
  const { answer, message, inputJson, always, replies } = value;
  if (answer !== "allow" && answer !== "deny") return false;
  if (!["answerId", "inputHash", "by"].every((key) => isText(value[key]))) return false;
  if (![message, inputJson].every((text) => text === undefined || isText(text))) return false;
  if (replies !== undefined && !(Array.isArray(replies) && replies.every(isTexts))) return false;
  if (always === undefined) return true;
  return isRecord(always) && isText(always["rule"]) && (always["for"] === "session" || always["for"] === "project");
}

/** Required text fields of each command from another process. Answers are not commands but separate lines. */
const commandTexts: Readonly<Record<Exclude<Command["type"], "answer">, readonly string[]>> = {
  prompt: ["to"],
  edit: ["promptId"],
  withdraw: ["promptId"],
  stop: ["what"],
  resume: ["agent"],
  background: ["agent"],
  foreground: ["agent"],
  configure: [],
  compact: [],
  rewind: ["to"],
};

function isCommand(value: unknown): value is Command {
  if (!isRecord(value) || !isText(value["id"]) || !isText(value["type"])) return false;
  const { type } = value;
  if (!Object.hasOwn(commandTexts, type)) return false;
  if (!commandTexts[type as keyof typeof commandTexts].every((name) => isText(value[name]))) return false;
  if (type !== "prompt" && type !== "edit") return true;
  const { content, when } = value;
  const isTextBlock = (block: unknown): boolean => isRecord(block) && block["type"] === "text" && isText(block["text"]);
  if (!Array.isArray(content) || !content.every(isTextBlock)) return false;
  return type === "edit" || when === "now" || when === "next";
}

function isReceipt(value: unknown): value is Receipt {
  if (!isRecord(value) || !["commandId", "message"].every((key) => isText(value[key]))) return false;
  return value["status"] === "done" || value["status"] === "refused";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}
