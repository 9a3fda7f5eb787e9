import type { ApprovalAnswer, ApprovalQuestion } from "../../protocol/index.ts";
import type { App, Layer } from "../app.ts";
import { activitySpan } from "../conversation/call-rows.ts";
import { createSpokenQuestion } from "../plain/spoken-question.ts";
import { type Row, span } from "../screen/row.ts";
import { cutBefore } from "../screen/text.ts";
import { createApprovalLayer } from "./approval-layer.ts";
import { createQuestionLayer } from "./question-layer.ts";
import { requestLine } from "./request-rows.ts";

export interface RequestsOptions {
  readonly app: App;
  /** The user's name. */
  readonly by: string;
  /** Returns whether the user is busy with the prompt box, a list or a transcript. */
  readonly isOccupied: () => boolean;
}

/**
 * Requests for approval and agents' questions. They are shown one at a time, and none of them receives keypresses while
 * the user is typing.
 */
export interface Requests {
  /**
   * Updates the requests from the view: opens the oldest one if it can be answered here, and closes one that was
   * settled elsewhere.
   */
  update(): void;
  /** Shows the open request now, even if the user is busy. Returns false if there is none. */
  show(): boolean;
  /** Returns one line about an open request that is not shown. */
  rows(columns: number): readonly Row[];
  /**
   * Returns whether it is too early to accept a key press as an answer, because the user may have typed it before
   * reading the request.
   */
  isEarly(layer: Layer): boolean;
}

/** How long a request must be on the screen before a key answers it. Its keys are shown after that. */
const QUIET_MS = 400;

/** Time after which Retinue tries again to read a request that could not be read. */
const RETRY_MS = 2_000;

export function createRequests({ app, by, isOccupied }: RequestsOptions): Requests {
  let current: ApprovalQuestion | undefined;
  let diff: string | undefined;
  let loading: string | undefined;
  let layer: Layer | undefined;
  let shownAt = 0;
  /** The request that the user has put aside to write something first. */
  let aside: string | undefined;

  const close = (): void => {
    if (layer !== undefined) app.close(layer);
    layer = undefined;
  };
  const isEarly = (): boolean => Date.now() - shownAt < QUIET_MS;
  const howToAnswer = ({ requestId }: ApprovalQuestion): string | undefined => app.host?.howToAnswer?.(requestId);
  const open = (question: ApprovalQuestion): void => {
    const elsewhere = howToAnswer(question);
    const options = {
      question,
      diff,
      by,
      elsewhere,
      isEarly,
      waiting: () => app.view.approvals.length,
      onAnswer: (answer: ApprovalAnswer) => {
        close();
        aside = undefined;
        void app.send({ type: "answer", requestId: question.requestId, answer });
      },
      onAside: () => {
        close();
        aside = question.requestId;
      },
    };
    const isAsked = question.kind === "question" && elsewhere === undefined;
    const createAsked = app.isPlain ? createSpokenQuestion : createQuestionLayer;
    layer = isAsked ? createAsked(app, options) : createApprovalLayer(app, options);
    shownAt = Date.now();
    setTimeout(app.redraw, QUIET_MS).unref();
    app.open(layer);
  };
  const load = async (requestId: string): Promise<void> => {
    loading = requestId;
    const question = await app.host?.question(requestId);
    const change = question && (await app.host?.preview?.(question));
    if (question === undefined) await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
    if (loading !== requestId) return;
    loading = undefined;
    current = question;
    diff = change;
    app.redraw();
  };
  const first = (): string | undefined => app.view.approvals[0]?.requestId;

  return {
    update: () => {
      const wanted = first();
      if (current !== undefined && current.requestId !== wanted) {
        close();
        current = undefined;
      }
      if (wanted === undefined) loading = undefined;
      else if (current === undefined && loading !== wanted) void load(wanted);
      if (current === undefined || layer !== undefined || aside === current.requestId) return;
      if (howToAnswer(current) === undefined && !isOccupied()) open(current);
    },
    show: () => {
      if (current === undefined || layer !== undefined) return false;
      aside = undefined;
      open(current);
      return true;
    },
    rows: (columns) => {
      if (current === undefined || layer !== undefined) return [];
      const row = [span("  ? ", "strong"), activitySpan(requestLine(current, app.view), "warn")];
      const hint = howToAnswer(current) === undefined ? "  Tab answers" : "  Tab shows who can answer";
      return [cutBefore(row, [span(hint, "dim")], columns - 1)];
    },
    isEarly: (of) => of === layer && isEarly(),
  };
}
