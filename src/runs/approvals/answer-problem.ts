import { isRecord, nearest, plural } from "../../lib/index.ts";
import type { ApprovalAnswer, UserQuestion } from "../../protocol/index.ts";

/**
 * Returns what is wrong with a program's answer to a request for approval; undefined if the answer is valid. The
 * program may have been written without type checking. An unknown field is an error, because the program may have meant
 * it to change the call.
 */
export function answerProblem(value: unknown, questions?: readonly UserQuestion[]): string | undefined {
  if (!isRecord(value)) return 'it must be an object such as { answer: "allow" }.';
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(fields, field) && value[field] !== undefined);
  if (unknown !== undefined) return unknownField(unknown);
  const { answer, by, message, inputJson, always, replies } = value;
  if (answer !== "allow" && answer !== "deny") return '`answer` must be "allow" or "deny".';
  const texts = Object.entries({ by, message });
  const [wrong] = texts.find(([, text]) => text !== undefined && typeof text !== "string") ?? [];
  if (wrong !== undefined) return `\`${wrong}\` must be a string.`;
  if (inputJson !== undefined && !isJsonObject(inputJson))
    return "`inputJson` must be a string that contains a JSON object, such as JSON.stringify(input).";
  if (!isAlways(always)) return '`always` must be an object such as { rule: "Bash(npm test)", for: "session" }.';
  if (!areReplies(replies)) return "`replies` must be an array of string arrays, one for each question.";
  return questions && replies && repliesProblem(replies, questions);
}

const fields: Readonly<Record<keyof ApprovalAnswer, true>> = {
  answer: true,
  by: true,
  message: true,
  inputJson: true,
  always: true,
  replies: true,
};

/** Names of fields in other libraries. */
const otherNames: Readonly<Record<string, keyof ApprovalAnswer>> = {
  behavior: "answer",
  decision: "answer",
  updatedInput: "inputJson",
  input: "inputJson",
  reason: "message",
  updatedPermissions: "always",
};

function unknownField(field: string): string {
  const [meant] = Object.hasOwn(otherNames, field) ? [otherNames[field]] : nearest(field, Object.keys(fields));
  if (meant === undefined) return `the field \`${field}\` is unknown. Use ${Object.keys(fields).join(", ")}.`;
  const hint = meant === "inputJson" ? ", a string that contains the new input as JSON" : "";
  return `the field \`${field}\` is unknown. Use \`${meant}\`${hint}.`;
}

function isJsonObject(text: unknown): boolean {
  try {
    return typeof text === "string" && isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

function isAlways(always: unknown): boolean {
  if (always === undefined) return true;
  if (!isRecord(always) || typeof always["rule"] !== "string") return false;
  return always["for"] === "session" || always["for"] === "project";
}

function areReplies(replies: unknown): replies is ApprovalAnswer["replies"] {
  const isReply = (reply: unknown): boolean => Array.isArray(reply) && reply.every((text) => typeof text === "string");
  return replies === undefined || (Array.isArray(replies) && replies.every(isReply));
}

function repliesProblem(
  replies: NonNullable<ApprovalAnswer["replies"]>,
  questions: readonly UserQuestion[],
): string | undefined {
  if (replies.length !== questions.length)
    return `the agent asked ${plural(questions.length, "question")}, but \`replies\` has ${plural(replies.length, "item")}. Use one item for each question, in the same order; an empty array skips a question.`;
  const wrong = questions.find(({ multiSelect }, index) => !multiSelect && (replies[index]?.length ?? 0) > 1);
  return wrong && `the question "${wrong.question}" allows only one answer, so its reply must have one item.`;
}
