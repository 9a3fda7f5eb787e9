import { isRecord } from "../../lib/portable.ts";
import { NO_APPROVER } from "../../protocol/index.ts";
import type { CallPart } from "../view/items.ts";
import { parseFields } from "./approval-text.ts";
import { oneLine } from "./describe-call.ts";

/** A call and its approval, if it has one. */
export type AnsweredCall = Pick<CallPart, "inputJson" | "target" | "targetBefore" | "approval" | "waitedMs" | "result">;

/**
 * Describes how a call's request for approval was answered, such as `you allowed it once`. Empty if the request was not
 * answered, or if no person was asked. `user` is the name of the person who reads the text.
 */
export function answerWords({ approval, target, targetBefore }: AnsweredCall, user?: string): string {
  const { answer, by, message = "", always, replies } = approval?.answer ?? {};
  if (answer === undefined || by === undefined || by === NO_APPROVER || replies !== undefined) return "";
  const who = by === user ? "you" : oneLine(by);
  if (answer === "deny") return `${who} denied it${message.trim() === "" ? "" : `: ${oneLine(message)}`}`;
  if (always !== undefined) return `${who} allowed it, and always in this ${always.for}: ${oneLine(always.rule)}`;
  if (targetBefore === undefined) return `${who} allowed it${by.startsWith("the rule ") ? "" : " once"}`;
  return `${who} edited and allowed it${targetBefore === target ? "" : `; before: ${targetBefore}`}`;
}

/** An agent's question and the user's reply. */
export interface RepliedQuestion {
  readonly question: string;
  /** Empty if the user let the agent decide. */
  readonly reply: string;
}

/**
 * Returns the questions that a call has asked, with the user's replies. Empty for other calls, and until the user
 * replies.
 */
export function repliesTo({ inputJson, approval }: AnsweredCall): readonly RepliedQuestion[] {
  const { replies } = approval?.answer ?? {};
  if (replies === undefined) return [];
  const { questions } = parseFields(inputJson) ?? {};
  return replies.map((reply, index) => {
    const asked: unknown = Array.isArray(questions) ? questions[index] : undefined;
    const question = isRecord(asked) ? asked["question"] : undefined;
    return { question: typeof question === "string" ? oneLine(question) : "", reply: reply.map(oneLine).join(", ") };
  });
}

/** Returns how long a call worked, excluding its wait for approval; undefined if the call has not ended. */
export function workedMs({ result, waitedMs = 0 }: AnsweredCall): number | undefined {
  return result === undefined ? undefined : Math.max(0, result.milliseconds - waitedMs);
}
