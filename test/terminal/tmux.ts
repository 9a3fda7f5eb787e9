import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { isAlive } from "../../src/tools/shared/tool-context.test-support.ts";

export interface TmuxOptions {
  /** Command line, without a shell. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** A program in its own terminal. */
export interface Tmux {
  /** Types text literally. */
  type(text: string): Promise<void>;
  /** Presses keys by their names in tmux: `Enter`, `Escape`, `C-c`, `Up`. */
  press(...keys: readonly string[]): Promise<void>;
  /** Pastes text, marked as a paste if the program has requested that, unless `isMarked` is false. */
  paste(text: string, options?: { readonly isMarked?: boolean }): Promise<void>;
  /** Returns the visible rows. */
  screen(): Promise<string>;
  /** Returns the scrollback buffer and the visible rows. */
  scrollback(options?: { readonly styled?: boolean }): Promise<string>;
  /**
   * Waits until the screen meets a condition, and returns the screen. After 20 seconds, throws an error that shows it.
   */
  waitFor(wanted: string | RegExp | ((screen: string) => boolean)): Promise<string>;
  resize(columns: number, rows: number): Promise<void>;
  /** Writes all bytes that the program sends from now on to a file. */
  record(file: string): Promise<void>;
  /** Sends a signal to the program. */
  signal(name: NodeJS.Signals): void;
  /** Waits until the program ends, and returns its exit code. */
  ended(): Promise<number>;
  /** Ends the program and its terminal. Resolves when both have ended. */
  close(): Promise<void>;
}

const WAIT_MS = 20_000;
const POLL_MS = 25;
/** Least time between two keystrokes. A program treats what arrives at once as one key or as pasted text. */
const TYPING_MS = 30;
/** Time that a program has to end by itself when its terminal is closed. */
const END_MS = 5_000;

export function startInTmux({ command, cwd, environment, columns = 80, rows = 24 }: TmuxOptions): Tmux {
  const socket = `retinue-test-${randomBytes(6).toString("hex")}`;
  const base = ["-L", socket, "-f", "/dev/null"];
  const variables = Object.entries({ TERM: "screen-256color", LANG: "C.UTF-8", ...environment })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  const size = ["-x", String(columns), "-y", String(rows)];
  const started = ["env", "-i", ...variables, ...command];
  const settings = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "history-limit", "50000", ";"];
  execFileSync("tmux", [...base, ...settings, "new-session", "-d", ...size, "-c", cwd, ...started], {
    env: { PATH: process.env["PATH"], LANG: "C.UTF-8" },
  });
  const shown = execFileSync("tmux", [...base, "display-message", "-p", "#{pane_pid}"], { encoding: "utf8" });
  const pid = Number(shown);
  const tmux = control(base);
  const screen = (): Promise<string> => tmux("capture-pane", "-p");
  let lastSent = 0;
  const send = async (...words: readonly string[]): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, lastSent + TYPING_MS - performance.now()));
    await tmux("send-keys", ...words);
    lastSent = performance.now();
  };
  const until = async <Value>(look: () => Promise<Value | undefined>, what: () => string): Promise<Value> => {
    const end = Date.now() + WAIT_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (Date.now() > end) throw new Error(`The terminal shows no ${what()}, but:\n${await screen()}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  return {
    type: (text) => send("-l", text),
    press: (...keys) => send(...keys),
    paste: async (text, { isMarked = true } = {}) => {
      await tmux("set-buffer", "-b", "paste", text);
      await tmux("paste-buffer", ...(isMarked ? ["-p"] : []), "-b", "paste");
    },
    screen,
    scrollback: ({ styled = false } = {}) => tmux("capture-pane", "-p", "-J", ...(styled ? ["-e"] : []), "-S", "-"),
    waitFor: (wanted) => {
      const isFound = (text: string): boolean => {
        if (typeof wanted === "string") return text.includes(wanted);
        return wanted instanceof RegExp ? wanted.test(text) : wanted(text);
      };
      const look = async (): Promise<string | undefined> => {
        const text = await screen();
        return isFound(text) ? text : undefined;
      };
      return until(look, () => String(wanted));
    },
    resize: async (width, height) => void (await tmux("resize-window", "-x", String(width), "-y", String(height))),
    record: async (file) => void (await tmux("pipe-pane", `cat >> '${file}'`)),
    signal: (name) => void process.kill(pid, name),
    ended: () =>
      until(
        async () => {
          const shown = await tmux("display-message", "-p", "#{pane_dead} #{pid} #{pane_dead_status}");
          const [isDead, server, code = ""] = shown.trim().split(" ");
          if (isDead !== "1") return undefined;
          if (code !== "") return Number(code);
          // tmux sometimes misses that its child has ended.
          process.kill(Number(server), "SIGCHLD");
          return undefined;
        },
        () => "end of the program",
      ),
    close: async () => {
      spawnSync("tmux", [...base, "kill-server"]);
      for (let waited = 0; isAlive(pid) && waited < WAIT_MS; waited += POLL_MS) {
        if (waited > END_MS) process.kill(pid, "SIGKILL");
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
  };
}

/**
 * Connects to a tmux server in control mode, in which one process sends all commands. Returns a function that sends a
 * command and resolves with its output.
 */
function control(base: readonly string[]): (...words: readonly string[]) => Promise<string> {
  const client = spawn("tmux", ["-u", ...base, "-C", "attach-session", "-f", "ignore-size,no-output"]);
  const waiting: { resolve(output: string): void; reject(reason: Error): void }[] = [];
  client.stdin.on("error", () => undefined);
  client.on("close", () => {
    for (const { reject } of waiting.splice(0)) reject(new Error("The tmux server has ended."));
  });
  // The output of each command is between a line `%begin TIME NUMBER FLAGS` and a line `%end …` or `%error …`. The flags
  // are 1 for commands of this client, and 0 for the command that started it.
  let block: { readonly id: string; readonly lines: string[] } | undefined;
  createInterface({ input: client.stdout }).on("line", (line) => {
    if (block === undefined) {
      const [, id] = /^%begin (\d+ \d+ 1)$/.exec(line) ?? [];
      if (id !== undefined) block = { id, lines: [] };
      return;
    }
    const isError = line === `%error ${block.id}`;
    if (!isError && line !== `%end ${block.id}`) {
      block.lines.push(line);
      return;
    }
    const output = block.lines.map((text) => `${text}\n`).join("");
    block = undefined;
    const asked = waiting.shift();
    if (isError) asked?.reject(new Error(`tmux: ${output}`));
    else asked?.resolve(output);
  });
  return (...words) =>
    new Promise((resolve, reject) => {
      if (client.exitCode !== null || client.signalCode !== null)
        return reject(new Error("The tmux server has ended."));
      waiting.push({ resolve, reject });
      client.stdin.write(`${words.map(quote).join(" ")}\n`);
    });
}

/** Quotes a word of a tmux command, which ends at a line break. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''").replaceAll("\n", "'\"\\n\"'")}'`;
}
