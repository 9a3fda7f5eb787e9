import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Line } from "../../src/protocol/index.ts";
import { messagesOf, type RecordedRequest, type Reply, type ReplyFunction } from "../../src/testing/index.ts";
import type { Random } from "./work-script.ts";

/** Transcripts of the main agent and its children, by agent id, the main agent first. */
export type Family = ReadonlyMap<string, readonly Line[]>;

/** Reads the files, even while they are being written: incomplete lines are left out. */
export function readFamily(transcript: string): Family {
  const directory = join(transcript.replace(/\.jsonl$/, ""), "subagents");
  const family = new Map([["main", readLines(transcript)]]);
  for (const name of namesIn(directory)) {
    const lines = readLines(join(directory, name));
    family.set(idOf(lines) ?? name, lines);
  }
  return family;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  } catch {
    return [];
  }
}

function readLines(path: string): Line[] {
  const text = readFileSync(path, "utf8");
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

function idOf([first]: readonly Line[]): string | undefined {
  return first?.type === "agent.created" ? first.agentId : undefined;
}

export const reportOf = (child: number): string => `Report of child ${child}.`;
export const promptOf = (child: number): string => `CHILD ${child} has its own work.`;

/** Returns the number of the child whose conversation begins with this text; undefined for the main agent's. */
export function childOf(firstWords: string): number | undefined {
  const number = /CHILD (\d+) has its own work/.exec(firstWords)?.[1];
  return number === undefined ? undefined : Number(number);
}

export interface FamilyPlan {
  readonly random: Random;
  readonly children: number;
  /** Number of answers with a call before a child's report. */
  readonly steps: number;
  /** Number of children that run in the background. */
  readonly background: number;
}

/** The main agent starts all its children in one answer; each writes its calls into the ledger and then reports. */
export function planFamily({ random, children, steps, background }: FamilyPlan): ReplyFunction {
  return (request) => {
    const child = childIn(request);
    const done = messagesOf(request).filter(({ toolCalls }) => toolCalls.length > 0).length;
    const reply = child === undefined ? mainReply(done, { children, background }) : childReply(child, { done, steps });
    return { ...reply, pacing: { chunkCharacters: 40, chunkMs: random() < 0.3 ? 2 : 0 } };
  };
}

export function childIn(request: RecordedRequest): number | undefined {
  return childOf(messagesOf(request)[0]?.text ?? "");
}

function mainReply(done: number, { children, background }: Pick<FamilyPlan, "children" | "background">): Reply {
  if (done > 0) return { content: "All done." };
  const calls = Array.from({ length: children }, (_, child) => ({
    tool: "Task",
    input: {
      description: `part ${child}`,
      prompt: promptOf(child),
      subagent_type: "general-purpose",
      ...(child < background ? { run_in_background: true } : {}),
    },
  }));
  return { content: ["I delegate the work.", ...calls] };
}

function childReply(child: number, { done, steps }: { done: number; steps: number }): Reply {
  if (done >= steps) return { content: reportOf(child) };
  const command = `echo "$RETINUE_CALL_ID" >> ledger.txt; : child ${child} step ${done}`;
  return { content: [`Step ${done + 1}.`, { tool: "Bash", input: { command } }] };
}
