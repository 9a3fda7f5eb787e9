import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ApiServer } from "../../src/testing/index.ts";
import { createPlace, dist, type Place } from "../cli/command-line.ts";
import { startInTmux, type Tmux } from "./tmux.ts";

export interface TerminalSession extends Place, Tmux {}

interface SessionOptions extends Partial<Place> {
  readonly words?: readonly string[] | undefined;
  /** Command that starts the program, which is appended to it. */
  readonly through?: readonly string[] | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** Starts `retinue` in a terminal and waits until it can be used. It is ended after the test. */
export async function openTerminal(
  server: ApiServer | undefined,
  options: SessionOptions = {},
): Promise<TerminalSession> {
  const place = options.home && options.cwd ? { home: options.home, cwd: options.cwd } : createPlace();
  const provider = server && { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "sk-test-secret" };
  const tmux = startInTmux({
    ...options,
    command: [...(options.through ?? []), process.execPath, join(dist, "cli.cjs"), ...(options.words ?? [])],
    cwd: place.cwd,
    environment: {
      PATH: process.env["PATH"],
      HOME: join(place.home, ".."),
      RETINUE_HOME: place.home,
      ...provider,
      ...options.environment,
    },
  });
  onTestFinished(tmux.close);
  await tmux.waitFor((screen) => /^[›>]/m.test(screen) && !screen.includes("opening the session"));
  return { ...tmux, ...place };
}

/** Types a prompt and sends it. */
export async function say({ type, press }: Tmux, prompt: string): Promise<void> {
  await type(prompt);
  await press("Enter");
}

/** Answers the open request: chooses with a letter, and confirms once the terminal says what Enter does. */
export async function answerWith({ press, waitFor }: Tmux, letter: "y" | "a" | "e" | "n"): Promise<void> {
  const effects = { y: "allows it once", a: "shows the rules", e: "edits it", n: "denies it" };
  await press(letter);
  await waitFor(`Enter ${effects[letter]}`);
  await press("Enter");
}
