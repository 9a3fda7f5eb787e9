import { describeError, isRecord, UserError } from "../../../lib/index.ts";
import type { Command } from "../../../protocol/index.ts";
import { answerProblem } from "../../../runs/index.ts";
import {
  aBoolean,
  aString,
  checkOptions,
  type OptionType,
  type OptionTypes,
  oneOf,
  optional,
} from "../../check-options.ts";
import { isPromptContent } from "../prompt-content.ts";

const content: OptionType = { accepts: isPromptContent, description: "a list of text and image blocks" };
const answer: OptionType = {
  accepts: (value) => answerProblem(value) === undefined,
  description: 'an object such as { answer: "allow" }',
  problem: answerProblem,
};
const id = aString;
const type = aString;

/** Fields of each command. They are checked because programs without type checking may pass invalid values. */
const commandFields: { readonly [Type in Command["type"]]: OptionTypes<Extract<Command, { type: Type }>> } = {
  prompt: { id, type, to: aString, content, when: oneOf(["now", "next"]) },
  edit: { id, type, promptId: aString, content },
  withdraw: { id, type, promptId: aString },
  answer: { id, type, requestId: aString, answer },
  stop: { id, type, what: aString },
  resume: { id, type, agent: aString },
  background: { id, type, agent: aString },
  foreground: { id, type, agent: aString },
  configure: { id, type, permissionMode: optional(aString), model: optional(aString) },
  compact: { id, type, instructions: optional(aString) },
  rewind: { id, type, to: aString, files: aBoolean },
};

/** Describes what is wrong with a command; undefined if it is valid. */
export function problemOf(command: unknown): string | undefined {
  const name = isRecord(command) ? String(command["type"]) : "";
  const fields = Object.hasOwn(commandFields, name) ? commandFields[name as Command["type"]] : undefined;
  if (fields === undefined) return `The type of a command must be one of ${Object.keys(commandFields).join(", ")}.`;
  try {
    checkOptions(`the command "${name}"`, command, fields as OptionTypes<unknown>);
    return undefined;
  } catch (error) {
    return error instanceof UserError ? `${error.message}. ${error.fix}` : describeError(error);
  }
}
