import { type Message, textOf } from "../protocol/index.ts";

const OPENING = "[You are a fork of the agent whose conversation this is";

/** The first words of a fork; what siblings do not share stands at their end. */
export function forkWords(directive: string): string {
  return `${OPENING}: a worker that knows what it knows, and not that agent itself. Its calls above are its own affair. Do what follows and nothing else, by yourself: start no agents, ask nobody, propose no next steps. Your last message is your report to it, short and exact: what you found, did and changed.]\n\n${directive}`;
}

/** Whether a conversation is a fork's, by its words: for one whose record was lost. */
export function speaksToFork(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === "user" && textOf(content).includes(OPENING));
}
