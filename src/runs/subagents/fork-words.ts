import { FORK_WORDS, type Message, textOf } from "../../protocol/index.ts";

/** The first words of a fork; what siblings do not share stands apart. */
export function forkWords(directive: string): readonly string[] {
  return [FORK_WORDS, directive];
}

/** How they begin, also where an earlier version has told them. */
const OPENING = "[You are a fork of the agent";

/** Whether a conversation is a fork's, by its words: for one whose record was lost. */
export function speaksToFork(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === "user" && textOf(content).includes(OPENING));
}
