import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { type ApiServer, createApiServer, type Script } from "../src/testing/index.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

const root = resolve(import.meta.dirname, "..");
const AGENTS = 20;
const KEYS = 100;
const CHUNKS = 10_000;
const LINES = 10_000;

/** Measures the terminal interface in a terminal that util-linux's `script` creates. */
export async function terminalCase(): Promise<Figure[]> {
  return [await firstFrame(), ...(await typing()), ...(await editing()), ...(await streaming())];
}

/** The baseline is a program that shows one line with Ink, bundled for production. */
async function firstFrame(): Promise<Figure> {
  const directory = mkdtempSync(join(tmpdir(), "retinue-bench-"));
  const baselineProgram = join(directory, "ink.mjs");
  writeFileSync(join(directory, "empty.mjs"), "export default {};\n");
  await build({
    entryPoints: [join(root, "bench/baseline-ink.mjs")],
    outfile: baselineProgram,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    // Ink loads these developer tools only if they are enabled.
    alias: { "react-devtools-core": join(directory, "empty.mjs") },
    define: { "process.env.NODE_ENV": '"production"' },
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  const server = await createApiServer({ script: [] });
  const times: Record<"ours" | "baseline", number[]> = { ours: [], baseline: [] };
  for (let round = 0; round < 15; round += 1) {
    times.baseline.push(await timeToText([baselineProgram], "first frame", server));
    times.ours.push(await timeToText([join(root, "dist/cli.cjs")], "What shall we do?", server));
  }
  await server.close();
  rmSync(directory, { recursive: true });
  return {
    name: "start to the first frame, against Ink",
    ours: median(times.ours),
    baseline: median(times.baseline),
    unit: "ms",
    limit: 2.5,
  };
}

async function timeToText(command: readonly string[], text: string, server: ApiServer): Promise<number> {
  const startedAt = performance.now();
  const terminal = startTerminal(command, server);
  await terminal.until(text);
  const time = performance.now() - startedAt;
  await terminal.close();
  return time;
}

/** Types while many agents write. The time from a keypress to its echo includes the terminal's own delay. */
async function typing(): Promise<Figure[]> {
  const task = (index: number) => ({
    tool: "Task",
    input: { description: `part ${index}`, prompt: `CHILD: ${index}`, subagent_type: "general-purpose" },
  });
  const server = await createApiServer({
    script: {
      conversations: [
        {
          match: { firstUserContains: "CHILD:" },
          steps: [{ reply: { content: words(4_000), pacing: { chunkMs: 20, chunkCharacters: 12 } }, times: "always" }],
        },
        {
          steps: [
            { reply: { content: Array.from({ length: AGENTS }, (_, index) => task(index)) } },
            { reply: { content: "Done." }, times: "always" },
          ],
        },
      ],
    } satisfies Script,
    record: "light",
  });
  const terminal = startTerminal([join(root, "dist/cli.cjs")], server);
  await terminal.until("Enter sends");
  terminal.type("Go\r");
  await terminal.until(`${AGENTS} agents`);
  const times: number[] = [];
  let typed = "";
  for (let index = 0; index < KEYS; index += 1) {
    const key = String.fromCharCode(97 + (index % 26));
    typed = `${typed}${key}`.slice(-8);
    const startedAt = performance.now();
    terminal.type(key);
    await terminal.until(typed);
    times.push(performance.now() - startedAt);
    await new Promise((settle) => setTimeout(settle, 30));
  }
  await terminal.close();
  await server.close();
  const p95 = times.sort((left, right) => left - right)[Math.floor(KEYS * 0.95)] ?? 0;
  return [
    {
      name: `echo of a key while ${AGENTS} agents write, p95`,
      ours: Math.round(p95 * 10) / 10,
      baseline: 0,
      unit: "ms",
      limit: 30,
      kind: "value",
    },
  ];
}

/** Types into a long prompt, at its end and in its middle. The floor is the same with an empty box. */
async function editing(): Promise<Figure[]> {
  const server = await createApiServer({ script: [] });
  const lines = Array.from({ length: LINES }, (_, line) => `line ${line} of a prompt that was pasted from a log file`);
  const terminal = startTerminal([join(root, "dist/cli.cjs")], server, lines.join("\n"));
  await terminal.until("Enter sends");
  const floor = await timeKeys(terminal);
  terminal.type("\u007f".repeat(2 * KEYS));
  await terminal.until("What shall we do?");
  terminal.type("\u001b[A");
  await terminal.until(`line ${LINES - 1}`);
  const end = await timeKeys(terminal);
  terminal.type("\u001b[A".repeat(LINES / 2));
  await terminal.until(`line ${LINES / 2}`);
  const middle = await timeKeys(terminal);
  await terminal.close();
  await server.close();
  const name = `a key in a prompt of ${LINES} lines`;
  return [
    { name, ours: Math.round(Math.max(end, middle) * 10) / 10, baseline: 0, unit: "ms", limit: 5, kind: "value" },
    { name: `${name}, against an empty box`, ours: Math.max(end, middle), baseline: floor, unit: "ms", limit: 2.5 },
  ];
}

/** Returns the median time from a keypress to its echo, on new lines. */
async function timeKeys(terminal: BenchTerminal): Promise<number> {
  const times: number[] = [];
  for (let line = 0; line < 4; line += 1) {
    terminal.type("\n");
    let typed = "";
    for (let index = 0; index < KEYS / 4; index += 1) {
      // Other text that is on the screen contains none of these.
      const key = String.fromCharCode(0x41 + ((line * 7 + index) % 26));
      typed += key;
      const startedAt = performance.now();
      terminal.type(key);
      await terminal.until(typed);
      times.push(performance.now() - startedAt);
      await new Promise((settle) => setTimeout(settle, 10));
    }
  }
  return median(times);
}

/** Streams a long answer. Memory must not grow with it, and the screen must not be erased. */
async function streaming(): Promise<Figure[]> {
  const text = words(CHUNKS * 12);
  const server = await createApiServer({
    script: [{ content: text, pacing: { chunkMs: 1, chunkCharacters: 12 } }],
    record: "light",
  });
  const terminal = startTerminal([join(root, "dist/cli.cjs")], server);
  await terminal.until("Enter sends");
  terminal.type("Go\r");
  await terminal.until(markAt(text, 0.3));
  const early = terminal.memory();
  await terminal.until(markAt(text, 0.98));
  const late = terminal.memory();
  const { erased } = terminal;
  await terminal.close();
  await server.close();
  return [
    { name: `memory after ${CHUNKS} chunks, against 3,000`, ours: late, baseline: early, unit: "MB", limit: 1.25 },
    {
      name: "full erases of the screen while streaming",
      ours: erased,
      baseline: 0,
      unit: "times",
      limit: 0,
      kind: "value",
    },
  ];
}

/** Returns numbered paragraphs. */
function words(length: number): string {
  const paragraphs: string[] = [];
  for (let size = 0; size < length; size += 60)
    paragraphs.push(`Paragraph <${paragraphs.length}> of an answer that goes on for a long time.`);
  return paragraphs.join("\n\n").slice(0, length);
}

function markAt(text: string, part: number): string {
  const [, mark = ""] = /(<\d+>)[^<]*$/.exec(text.slice(0, text.length * part)) ?? [];
  return mark;
}

/** Sequences that erase the screen, the rest of the screen or the scrollback, or that reset the terminal. */
const erases = ["[2J", "[3J", "[J", "[0J", "c"].map((end) => `\u001b${end}`);

interface BenchTerminal {
  type(text: string): void;
  /** Waits until the program writes the given text. Ignores everything up to the text that the last call waited for. */
  until(text: string): Promise<void>;
  /** Returns the program's memory use in MB. */
  memory(): number;
  /** Number of times that the whole screen was erased. */
  readonly erased: number;
  close(): Promise<void>;
}

/** Starts a program. `earlier`: prompt that was sent before. */
function startTerminal(command: readonly string[], server: ApiServer, earlier?: string): BenchTerminal {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-bench-")));
  const home = join(place, ".home");
  if (earlier !== undefined) {
    mkdirSync(home);
    writeFileSync(join(home, "prompts.jsonl"), `${JSON.stringify({ cwd: place, prompt: earlier })}\n`);
  }
  const line = `stty cols 120 rows 40; exec '${process.execPath}' ${command.map((word) => `'${word}'`).join(" ")}`;
  const child = spawn("script", ["-qfe", "/dev/null", "-c", line], {
    cwd: place,
    env: {
      PATH: process.env["PATH"],
      TERM: "xterm-256color",
      SHELL: "/bin/sh",
      HOME: place,
      RETINUE_HOME: home,
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: "none",
    },
  });
  let unread = "";
  let erased = 0;
  let check = (): void => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    for (const erase of erases) erased += text.split(erase).length - 1;
    unread += text;
    check();
  });
  return {
    type: (text) => void child.stdin.write(text),
    until: (text) =>
      new Promise((found, fail) => {
        const timer = setTimeout(
          () => fail(new Error(`The terminal did not show ${text}: ${unread.slice(-2_000)}`)),
          30_000,
        );
        check = () => {
          const at = unread.lastIndexOf(text);
          if (at < 0) {
            unread = unread.slice(-20_000);
            return;
          }
          unread = unread.slice(at + text.length);
          clearTimeout(timer);
          check = () => {};
          found();
        };
        check();
      }),
    memory: () => memoryOf(programOf(child)),
    get erased() {
      return erased;
    },
    close: async () => {
      const closed = new Promise((settle) => child.once("exit", settle));
      process.kill(Number(programOf(child)), "SIGKILL");
      child.kill("SIGKILL");
      await closed;
      rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Returns the process that `script` started. */
function programOf({ pid }: ChildProcessWithoutNullStreams): string {
  const found = readdirSync("/proc").find((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(pid);
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error("The program has ended.");
  return found;
}

function memoryOf(pid: string): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return Number(kilobytes) / 1024;
}
