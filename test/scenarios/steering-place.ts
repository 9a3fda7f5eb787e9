import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { type ApiServer, createApiServer, type Step } from "../../src/testing/index.ts";
import { type Ended, retinue } from "../cli/command-line.ts";
import { type CommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, type Place, transcriptPath } from "../reliability/place.ts";

/** Returns a call that delegates to an agent called "helper". */
export const task = (prompt: string, more = {}) => ({
  tool: "Task",
  input: { description: "a piece of work", prompt, subagent_type: "general-purpose", name: "helper", ...more },
});
export const reply = (...content: object[]): Step => ({ reply: { content } }) as Step;
export const say = (text: string): Step => ({ reply: { content: text } }) as Step;

export interface Opened {
  readonly place: Place;
  readonly server: ApiServer;
  /** Starts a command in its own process. */
  start(...args: string[]): CommandLine;
  /** Runs a command in a process that has run others before, but not in the session's process. */
  run(...args: string[]): Promise<Ended>;
}

/** Creates a place and a model API server that recognizes each conversation by its first words. */
export async function open(parts: Readonly<Record<string, readonly Step[]>>): Promise<Opened> {
  const place = createPlace();
  const conversations = Object.entries(parts).map(([name, steps]) => ({
    match: { firstUserContains: name },
    steps: [...steps],
  }));
  const server = await createApiServer({ script: { conversations } });
  const started: CommandLine[] = [];
  onTestFinished(async () => {
    for (const { child } of started) child.kill("SIGKILL");
    await Promise.all(started.map(({ ended }) => ended));
    await server.close();
    place.remove();
  });
  const start = (...args: string[]): CommandLine => {
    const command = startCommandLine({ place, url: server.url, args });
    started.push(command);
    return command;
  };
  return { place, server, start, run: (...args) => retinue(args, { ...place, server }) };
}

/** Waits until the main agent's transcript has this many lines of a type. */
export async function hasLines(place: Place, type: string, count = 1): Promise<void> {
  const has = (): boolean => {
    const path = transcriptPath(place);
    // The session may be writing its newest line now.
    const lines = path === undefined ? [] : readFileSync(path, "utf8").split("\n").slice(0, -1);
    return lines.filter((line) => JSON.parse(line).type === type).length >= count;
  };
  while (!has()) await new Promise((resolve) => setTimeout(resolve, 20));
}
