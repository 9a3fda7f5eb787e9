import { createRequire } from "node:module";
import { isatty } from "node:tty";
import { listSessions, refuseAgentCommand, stateDirectory, userName, VERSION } from "../../app/index.ts";
import { describeError, maskAddress } from "../../lib/index.ts";
import type { ListedSession, TerminalProgram } from "../../terminal/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { withFlags } from "../output.ts";
import type { PrintOptions } from "../print/print-options.ts";
import { chosenDirectory } from "../real-directory.ts";
import { leaveOnSignal } from "../stop-signals.ts";
import { openEmbeddedHost } from "./embedded-host.ts";
import { findUntrusted } from "./find-untrusted.ts";
import { createPromptHistory } from "./prompt-history.ts";

export interface InteractiveOptions extends PrintOptions {
  /** URL of the server that has the session. */
  readonly server?: string | undefined;
  readonly plain: boolean;
}

/** Returns whether this process has a terminal in which a user can type. */
export function hasWholeTerminal({ plain }: Pick<InteractiveOptions, "plain">): boolean {
  return isatty(0) && process.stdout.isTTY === true && (plain || process.env["TERM"] !== "dumb");
}

/** Runs the terminal interface. Returns the exit code. */
export async function runInteractive(options: InteractiveOptions): Promise<number> {
  // Otherwise, an agent could type into a terminal and approve its own calls.
  refuseAgentCommand("use the terminal interface");
  const { runTerminal } = loadTerminal();
  const leaving = leaveOnSignal();
  try {
    await runTerminal({
      program: await programFor(options),
      input: process.stdin,
      output: process.stdout,
      environment: process.env,
      prompt: options.prompt,
      isPlain: options.plain,
      signal: leaving.controller.signal,
    });
    return leaving.code() ?? exitCodes.succeeded;
  } catch (error) {
    throw error instanceof Error && error.cause !== undefined ? error.cause : error;
  } finally {
    leaving.release();
  }
}

/** Loads the terminal interface, which is a separate bundle because only this command needs it. */
function loadTerminal(): typeof import("../../terminal/index.ts") {
  return createRequire(import.meta.filename)("./terminal.cjs") as typeof import("../../terminal/index.ts");
}

async function programFor(options: InteractiveOptions): Promise<TerminalProgram> {
  const history = createPromptHistory(stateDirectory(process.env), chosenDirectory(options.cwd));
  const common = { user: userName(), version: VERSION, history };
  if (options.server !== undefined) {
    const { createRemoteProgram } = await import("./remote-host.ts");
    const { open, sessions } = createRemoteProgram(options.server, options);
    const command = `retinue --server ${maskAddress(options.server)}`;
    return { ...common, command, open: (request) => explained(open(request)), sessions };
  }
  let chosen: PrintOptions = options;
  return {
    ...common,
    command: "retinue",
    open: (request) => {
      const first = chosen;
      // The options choose the first session. Later, the user chooses.
      chosen = { ...options, resume: undefined, continueLatest: false };
      return explained(openEmbeddedHost(first, request));
    },
    untrusted: async () => {
      if (options.trust) return undefined;
      const place = { cwd: chosenDirectory(options.cwd), home: stateDirectory(process.env), environment: process.env };
      const found = await findUntrusted(place);
      return found && { ...found, trust: () => explained(found.trust()) };
    },
    sessions: async () => {
      const found = listSessions({ home: stateDirectory(process.env), cwd: chosenDirectory(options.cwd) });
      return found.map(
        ({ id, firstPrompt = "", updatedAt, lastReason, inUse }): ListedSession => ({
          id,
          title: firstPrompt,
          updatedAt,
          state: inUse ? "open elsewhere" : (lastReason ?? ""),
        }),
      );
    },
  };
}

/** Converts errors to instances of `Error`, because the terminal is a separate bundle and does not have our classes. */
async function explained<Value>(promise: Promise<Value>): Promise<Value> {
  try {
    return await promise;
  } catch (error) {
    throw new Error(withFlags(describeError(error)), { cause: error });
  }
}
