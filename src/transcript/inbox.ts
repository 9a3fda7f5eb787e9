import { readFileSync, statSync } from "node:fs";
import { createId, errorCode, openAppendFile, parseJsonLines } from "../lib/index.ts";
import type { Clock, CountedAnswer, Inbox } from "../ports/index.ts";
import type { ApprovalQuestion, InboxLine } from "../protocol/index.ts";
import { emptyInbox, foldInbox, type InboxState } from "./fold-inbox.ts";
import { createPatience, type PatienceOptions } from "./patience.ts";

export interface InboxOptions extends Pick<PatienceOptions, "onTrouble"> {
  /** Undefined: kept in memory only. */
  readonly path: string | undefined;
  readonly clock: Pick<Clock, "now">;
}

/** Another process answers by adding a line; whoever waits here has seen it within this time. */
const LOOK_EVERY_MS = 100;

type NewLine = InboxLine extends infer Line ? (Line extends InboxLine ? Omit<Line, "v" | "at"> : never) : never;

/** The inbox of a session on its file. Any number of processes may have it open. */
export function openInbox({ path, clock, onTrouble }: InboxOptions): Inbox {
  const patience = createPatience({ onTrouble });
  const watchers = new Set<() => void>();
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
    for (const onChange of [...watchers]) onChange();
  }

  function lookAgain(): void {
    try {
      look();
    } catch {
      // What can't be read now may be readable in a moment.
    }
  }

  /** Resolves when it survives a power cut. One after the other, so that what was decided about is what is written behind. */
  function write(lineFor: () => NewLine | undefined, { patient = true } = {}): Promise<void> {
    const written = writing.then(async () => {
      const line = lineFor();
      if (line === undefined) return;
      const whole = { v: 1, at: clock.now(), ...line } as InboxLine;
      if (path === undefined) {
        state = foldInbox([...state.lines, whole], state);
        for (const onChange of [...watchers]) onChange();
        return;
      }
      const text = `${JSON.stringify(whole)}\n`;
      await (patient ? patience.until(() => append(path, text)) : append(path, text));
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
    // Who stops a run does not wait for room on the disk: a request that stays is asked for nobody, and harms nobody.
    withdraw: (requestId, reason) =>
      write(() => (isOpen(requestId) ? { type: "approval.withdrawn", requestId, reason } : undefined), {
        patient: false,
      }).catch(() => {}),
    answerTo: (requestId) => state.requests.get(requestId)?.answer?.answer,
    open: () => openRequests(state),
    rules: () => state.rules,
    watch(onChange) {
      watchers.add(onChange);
      timer ??= path === undefined ? undefined : setInterval(lookAgain, LOOK_EVERY_MS);
      return () => {
        watchers.delete(onChange);
        if (watchers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
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

/** Opened anew each time: an inbox is written rarely, and somebody else may have left a torn line. */
async function append(path: string, text: string): Promise<void> {
  const file = openAppendFile(path, { createDirectory: true });
  try {
    file.append(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** What the file says now. */
export function readInbox(path: string, before: InboxState = emptyInbox): InboxState {
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
