import { setTimeout as wait } from "node:timers/promises";
import { answerApproval, hasWaitingWork, listApprovals, type NewCommand, steerSession } from "../../src/app/index.ts";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkFamily } from "../reliability/check-family.ts";
import { checkSteering, type Steered } from "../reliability/check-steering.ts";
import { type Ended, startCommandLine } from "../reliability/command-line.ts";
import { planFamily, readFamily } from "../reliability/family.ts";
import { createPlace, isDone, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import type { Random } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";
import { countLines } from "./kill-family.ts";

const children = 4;
const steps = 2;

/**
 * A main agent and 4 children whose every call needs approval are killed at random moments and resumed, while a person
 * answers requests, sends prompts, and moves and stops agents.
 */
export const steering: Campaign = (options) => runSeeds(options, killWhileSteering);

async function killWhileSteering(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const place = createPlace({ sandbox: seed % 2 === 0 ? "auto" : "off" });
  const background = Math.floor(random() * (children + 1));
  const server = await createApiServer({ script: planFamily({ random, children, steps, background }), seed });
  const person = new Person(place, random);
  const violations: string[] = [];
  let kills = 0;
  try {
    for (let left = 1 + Math.floor(random() * 3); left > 0; left--) {
      const { signal } = await live(place, server, { person, killAfterLines: 1 + Math.floor(random() * 70) });
      if (signal === "SIGKILL") kills += 1;
      // Some answers and prompts arrive while no process has the session open.
      await person.act();
    }
    person.isSteering = false;
    // The last process is not killed, so that it closes the session.
    for (let tries = 0; tries === 0 || (tries < 5 && !isOver(place)); tries++) {
      const last = await live(place, server, { person });
      if (last.code !== 0 && last.code !== 3) violations.push(`ended with exit code ${last.code}: ${last.stderr}`);
    }
    const transcript = transcriptPath(place);
    if (transcript === undefined) return { violations: [...violations, "there is no transcript"], work: {} };
    const checked = checkFamily({ place, transcript, requests: server.requests, ends: "done" });
    violations.push(...checked.violations, ...checkSteering(readFamily(transcript), transcript, person));
    if (violations.length === 0) place.remove();
    else violations.push(`see ${place.root}`);
    return { violations, work: { kills, ...person.counts, ...checked.work } };
  } finally {
    await server.close();
  }
}

function isOver(place: Place): boolean {
  const transcript = transcriptPath(place);
  if (transcript === undefined || !isDone(place)) return false;
  return !hasWaitingWork({ home: place.home, sessionId: sessionIdOf(transcript) });
}

interface Life {
  readonly person: Person;
  readonly killAfterLines?: number;
}

async function live(place: Place, server: ApiServer, { person, killAfterLines }: Life): Promise<Ended> {
  const transcript = transcriptPath(place);
  const words = transcript !== undefined && isOver(place) ? ["Is there anything else?"] : [];
  const task = transcript === undefined ? ["Do the work."] : ["--resume", sessionIdOf(transcript), ...words];
  const { child, ended } = startCommandLine({ place, url: server.url, args: ["-p", ...task, "--on-ask", "wait"] });
  const over = new AbortController();
  void ended.then(() => over.abort());
  const killAt = countLines(place) + (killAfterLines ?? Number.POSITIVE_INFINITY);
  const kill = setInterval(() => void (countLines(place) >= killAt && child.kill("SIGKILL")), 5);
  void ended.then(() => clearInterval(kill));
  while (!over.signal.aborted) {
    await person.act();
    await wait(10);
  }
  return ended;
}

/** Answers requests and steers agents from another process. */
class Person implements Steered {
  isSteering = true;
  private readonly place: Place;
  private readonly random: Random;
  readonly prompts: string[] = [];
  readonly allowed: string[] = [];
  private commands = 0;

  constructor(place: Place, random: Random) {
    this.place = place;
    this.random = random;
  }

  get counts(): Readonly<Record<string, number>> {
    return { prompts: this.prompts.length, allowed: this.allowed.length, commands: this.commands };
  }

  async act(): Promise<void> {
    const transcript = transcriptPath(this.place);
    if (transcript === undefined) return;
    if (this.isSteering && this.random() < 0.15) return this.steer(transcript);
    await this.answer();
  }

  private async answer(): Promise<void> {
    const { home } = this.place;
    const [request] = await listApprovals({ home });
    if (request === undefined) return;
    const { requestId } = request.question;
    const answered = answerApproval({ home, request: requestId, verb: "allow", by: "person", project: false });
    // The run may already have withdrawn the request.
    const isAllowed = await answered.then(
      () => true,
      () => false,
    );
    if (isAllowed) this.allowed.push(requestId);
  }

  private async steer(transcript: string): Promise<void> {
    // A new agent has no id before its first line is written.
    const agents = [...readFamily(transcript)].flatMap(([id, lines]) => (lines.length > 0 ? [id] : []));
    const agent = agents[Math.floor(this.random() * agents.length)] ?? "main";
    const command = this.chooseCommand(agent);
    const id = `command-${this.commands++}`;
    if (command.type === "prompt") this.prompts.push(id);
    await steerSession({ home: this.place.home, sessionId: sessionIdOf(transcript), command, id });
  }

  private chooseCommand(agent: string): NewCommand {
    const kind = this.random();
    if (kind < 0.5 || agent === "main") {
      const when = agent === "main" && this.random() < 0.5 ? "next" : "now";
      const text = `Note ${this.commands}.`;
      return { type: "prompt", to: agent, content: [{ type: "text", text }], when };
    }
    return { type: kind < 0.75 ? "background" : "foreground", agent };
  }
}
