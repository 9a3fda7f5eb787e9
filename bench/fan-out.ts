import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { knownModel } from "../src/model/providers/model-table.ts";
import {
  type CacheAccount,
  createApiServer,
  messagesOf,
  type RecordedRequest,
  type Reply,
} from "../src/testing/index.ts";
import { newPlace } from "./client.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const program = join(here, "..", "dist", "cli.cjs");

interface Scenario {
  readonly seed: number;
  readonly prompt: string;
  readonly call: string;
  readonly description: string;
  readonly parts: number;
  readonly filesPerPart: number;
  readonly linesPerFile: number;
  readonly charactersPerLine: number;
  readonly report: string;
  readonly answer: string;
}

export interface FanOut {
  /** Input tokens of all requests, and how many of them were read, written or readable. Four bytes are one token. */
  readonly tokens: Pick<CacheAccount, "prompt" | "read" | "written" | "idealRead">;
  readonly requests: number;
  /** Tokens in the files that were read, as stored on disk. */
  readonly fileTokens: number;
}

export interface FanOutWish {
  readonly kind: "fresh" | "fork";
  /** Model of all agents. The test server caches nothing below the real minimum of this model. */
  readonly model: string;
  readonly flags?: readonly string[];
  /** Number of bytes of instructions in the project's AGENTS.md. */
  readonly instructions?: number;
  /** Delay before an answer begins; long enough to keep agents that start together from reading each other's cache. */
  readonly delayMs?: number;
}

/**
 * A main agent delegates eight parts of a survey at once. Each agent reads four files and reports, which takes five
 * requests.
 */
export async function fanOut({
  kind,
  model,
  flags = [],
  instructions = 0,
  delayMs = 200,
}: FanOutWish): Promise<FanOut> {
  const scenario = JSON.parse(readFileSync(join(here, "fan-out.json"), "utf8")) as Scenario;
  const place = newPlace();
  const fileTokens = writeParts(place.cwd, scenario);
  if (instructions > 0)
    writeFileSync(join(place.cwd, "AGENTS.md"), scenario.call.repeat(instructions).slice(0, instructions));
  const server = await createApiServer({
    seed: scenario.seed,
    cache: { minimumTokens: minimumOf(model) },
    script: (request) => ({ ...replyTo(request, scenario, kind), pacing: { delayMs } }),
  });
  try {
    const words = ["-p", scenario.prompt, "--model", `anthropic/${model}`, ...flags];
    const printed = await retinue(words, { ...place, url: server.url });
    const accounts = server.requests.flatMap(({ cache: account }) => account ?? []);
    const expected = 2 + scenario.parts * (scenario.filesPerPart + 1);
    if (accounts.length !== expected) throw new Error(`${accounts.length} requests instead of ${expected}`);
    const tokens = sum(accounts);
    compare(printed.cache, tokens);
    return { tokens, requests: accounts.length, fileTokens };
  } finally {
    await server.close();
    place.remove();
  }
}

export function minimumOf(model: string): number {
  const minimum = knownModel("anthropic", model)?.cacheMinimumTokens;
  if (minimum === undefined) throw new Error(`the cache minimum of ${model} is unknown`);
  return minimum;
}

/** Returns the cost of input in base-price tokens: a token written to the cache counts 1.25, a token read 0.1. */
export function equivalents({ prompt, read, written }: FanOut["tokens"]): number {
  return Math.round(prompt - read - written + 1.25 * written + 0.1 * read);
}

function replyTo(request: RecordedRequest, scenario: Scenario, kind: FanOutWish["kind"]): Reply {
  const messages = messagesOf(request);
  const pattern = new RegExp(fill(scenario.call, "(\\d)").slice(0, 30));
  const said = messages.map(({ role, text }) => (role === "user" ? pattern.exec(text)?.[1] : undefined));
  const at = said.findLastIndex((part) => part !== undefined);
  const part = said[at];
  if (part === undefined) return mainReply(messages.length, scenario, kind);
  const step = messages.slice(at).filter(({ role }) => role === "assistant").length + 1;
  if (step > scenario.filesPerPart) return { content: fill(scenario.report, part) };
  return { content: [{ tool: "Read", input: { file_path: fileOf(part, step) } }] };
}

function mainReply(messages: number, { parts, answer, call, description }: Scenario, kind: FanOutWish["kind"]): Reply {
  if (messages > 1) return { content: answer };
  const calls = Array.from({ length: parts }, (_, index) => ({
    tool: "Task",
    input: {
      description: fill(description, String(index + 1)),
      prompt: fill(call, String(index + 1)),
      subagent_type: kind === "fork" ? "fork" : "general-purpose",
    },
  }));
  return { content: calls };
}

function fill(text: string, part: string): string {
  return text.replaceAll("{part}", part);
}

function fileOf(part: string, step: number): string {
  return `src/part-${part}/file-${step}.ts`;
}

/** Writes files whose text never repeats and depends only on the scenario's seed. Returns their number of tokens. */
function writeParts(cwd: string, scenario: Scenario): number {
  const { parts, filesPerPart, linesPerFile, charactersPerLine } = scenario;
  let state = scenario.seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
  const words = "const value list read write check name next part error state count input open close keep".split(" ");
  const line = (): string => {
    let text = "";
    while (text.length < charactersPerLine) text += `${words[next(words.length)]}${next(1000)} `;
    return text.slice(0, charactersPerLine - 1);
  };
  let bytes = 0;
  for (let part = 1; part <= parts; part += 1) {
    mkdirSync(join(cwd, "src", `part-${part}`), { recursive: true });
    for (let step = 1; step <= filesPerPart; step += 1) {
      const text = Array.from({ length: linesPerFile }, line).join("\n");
      bytes += text.length;
      writeFileSync(join(cwd, fileOf(String(part), step)), text);
    }
  }
  return Math.ceil(bytes / 4);
}

interface Surroundings {
  readonly cwd: string;
  readonly home: string;
  readonly url: string;
}

async function retinue(words: readonly string[], { cwd, home, url }: Surroundings): Promise<Printed> {
  const child = spawn(process.execPath, [program, ...words, "--output-format", "json"], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      RETINUE_HOME: home,
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: url,
    },
  });
  let [printed, errors] = ["", ""];
  child.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`retinue exited with ${code}: ${errors}${printed}`);
  return JSON.parse(printed) as Printed;
}

interface Printed {
  readonly cache: { readonly cacheReadTokens: number; readonly idealReadTokens: number };
}

/** Throws if the cache figures that the program computed from its transcripts differ from the server's. */
function compare({ cacheReadTokens, idealReadTokens }: Printed["cache"], { read, idealRead }: FanOut["tokens"]): void {
  const isNear = Math.abs(idealReadTokens / idealRead - 1) < 0.005;
  if (cacheReadTokens === read && isNear) return;
  throw new Error(`reported ${cacheReadTokens} of ${idealReadTokens}, counted ${read} of ${idealRead}`);
}

function sum(accounts: readonly CacheAccount[]): FanOut["tokens"] {
  const total = { prompt: 0, read: 0, written: 0, idealRead: 0 };
  for (const { prompt, read, written, idealRead } of accounts) {
    total.prompt += prompt;
    total.read += read;
    total.written += written;
    total.idealRead += idealRead;
  }
  return total;
}
