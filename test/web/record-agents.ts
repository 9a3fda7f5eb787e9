import { answered, created, runEnded, started } from "../../src/client/view/agent-events.test-support.ts";
import type { DurableEvent, RunEnd } from "../../src/protocol/index.ts";
import { createTranscript } from "../../src/transcript/index.ts";

interface RecordedSession {
  readonly home: string;
  readonly cwd: string;
  readonly sessionId: string;
  readonly agents: number;
  /** Turns of each agent. A turn is recorded as five events. */
  readonly turns: number;
}

/** Records a session whose agents worked at the same time and ended in different ways. */
export async function recordAgents({ home, cwd, sessionId, agents, turns }: RecordedSession): Promise<void> {
  let now = Date.now() - (turns + 2) * TURN_MS;
  const clock = { now: () => now, monotonic: () => now };
  const transcript = await createTranscript({ home, cwd, sessionId, clock });
  const ids = Array.from({ length: agents }, (_, index) => `a${String(index).padStart(12, "0")}`);
  const appendAll = async (eventsOf: (index: number) => readonly DurableEvent[]): Promise<void> => {
    for (const [index, id] of ids.entries()) {
      now += TURN_MS / 4 / agents;
      await transcript.append(id, eventsOf(index));
    }
  };
  await transcript.append("main", [
    { type: "session.created", sessionId, cwd, version: "0", serializer: 1 },
    { ...started(), agentId: "main", agentType: "main" } as DurableEvent,
    prompt(`Review all ${agents} packages.`),
    { type: "model.requested", turn: 1 },
    answered("I'm having one agent review each package."),
  ]);
  await appendAll((index) => [
    { ...created(pathOf(index, ids), `package ${index}`), ...typeOf(index) } as DurableEvent,
    { ...started(), ...typeOf(index), agentId: ids[index] } as DurableEvent,
    prompt(`Review package ${index}.`),
  ]);
  for (let turn = 1; turn <= turns; turn += 1) {
    const callOf = (index: number): string => `${ids[index]}t${turn}`;
    await appendAll(() => [{ type: "model.requested", turn }]);
    await appendAll((index) => [reads(callOf(index), turn), { type: "tool.requested", callId: callOf(index), name }]);
    await appendAll((index) => [{ type: "tool.started", callId: callOf(index) }]);
    await appendAll((index) => [readEnded(callOf(index))]);
  }
  await appendAll((index) => [runEnded({ turns, ...endOf(index) })]);
  await transcript.append("main", [runEnded({ text: "All packages are reviewed." })]);
  await transcript.close();
}

/** Records a session with a command whose output is too long for the model. */
export async function recordOutput(place: Pick<RecordedSession, "home" | "cwd">, output: string): Promise<void> {
  const clock = { now: Date.now, monotonic: Date.now };
  const sessionId = "output";
  const transcript = await createTranscript({ ...place, sessionId, clock });
  const address = await transcript.results.save("main_1_0", output);
  const content = [{ type: "text", text: `${output.slice(0, 1_000)}\n[The whole output: ${address}]` }] as const;
  await transcript.append("main", [
    { type: "session.created", sessionId, cwd: place.cwd, version: "0", serializer: 1 },
    { ...started(), agentId: "main", agentType: "main" } as DurableEvent,
    prompt("Run it."),
    { type: "model.requested", turn: 1 },
    answered("", [{ name: "Bash", input: { command: "make noise" } }]),
    { type: "tool.requested", callId: "c0", name: "Bash" },
    { type: "tool.started", callId: "c0" },
    { type: "tool.ended", callId: "c0", name: "Bash", result: { outcome: "ok", content }, milliseconds: 3 },
    runEnded({ text: "Done." }),
  ]);
  await transcript.close();
}

const TURN_MS = 4_000;
const name = "Read";
const types = ["Explore", "general-purpose", "Plan"] as const;

function typeOf(index: number): { readonly agentType: string } {
  return { agentType: types[index % types.length] ?? "" };
}

/** Two of eight agents work for the agent before them, the others for the main agent. */
function pathOf(index: number, ids: readonly string[]): string[] {
  const depth = { 5: 1, 6: 2 }[index % 8] ?? 0;
  return ids.slice(index - depth, index + 1);
}

/** Lets a few agents fail or reach a limit. */
function endOf(index: number): Partial<RunEnd> {
  if (index % 20 === 7) return { outcome: "failed", reason: "model_error", message: "The model is overloaded." };
  return index % 10 === 3 ? { outcome: "incomplete", reason: "max_turns" } : {};
}

function prompt(text: string): DurableEvent {
  return { type: "prompt.received", content: [{ type: "text", text }], from: "person", promptId: "p1" };
}

function reads(callId: string, turn: number): DurableEvent {
  const response = answered("I'll look at the entry point.", [{ name, input: { file_path: "src/invoice/total.ts" } }]);
  return { ...JSON.parse(JSON.stringify(response).replace('"c0"', `"${callId}"`)), turn, costUsd: 0.001 };
}

function readEnded(callId: string): DurableEvent {
  const content = [{ type: "text", text: "a line of the file\n".repeat(20) }] as const;
  return {
    type: "tool.ended",
    callId,
    name,
    result: { outcome: "ok", content, details: { lines: 20 } },
    milliseconds: 3,
  };
}
