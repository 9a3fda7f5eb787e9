import { plural } from "../lib/index.ts";
import type { App } from "./app.ts";
import { type Row, span } from "./screen/row.ts";
import { cleanLines } from "./screen/text.ts";
import { outputText } from "./typed-prompt.ts";

/** Runs the user's shell commands, one at a time. */
export interface Shell {
  /** Runs a command and prints the end of its output. Never rejects. */
  run(command: string): Promise<void>;
  /** Stops the running command. Returns false if there is none. */
  stop(): boolean;
  /** The command that is running. */
  readonly running: string | undefined;
}

/**
 * Maximum number of rows to show from the end of a command's output. Everything that is kept of the output is sent with
 * the next prompt.
 */
const MAX_ROWS = 40;

/** Creates the shell. `onOutput` receives each command and its output, as text for the agent. */
export function createShell(app: App, onOutput: (text: string) => void): Shell {
  let running: { readonly command: string; readonly stop: AbortController } | undefined;
  return {
    run: async (command) => {
      const { shell } = app.host ?? {};
      if (command === "") return;
      if (shell === undefined || running !== undefined) {
        const why = running === undefined ? "Commands can't be run in this session." : "A command is still running.";
        app.say(why, "warn");
        return;
      }
      const stop = new AbortController();
      running = { command, stop };
      app.redraw();
      const output = await shell(command, stop.signal);
      running = undefined;
      onOutput(outputText(command, output.text));
      const lines = output.text === "" ? [] : cleanLines(output.text);
      const shown = lines.slice(-MAX_ROWS).map((line): Row => [span(`  ${line}`)]);
      const before = Math.max(0, output.lines - shown.length);
      const more = before === 0 ? [] : [[span(`  … ${plural(before, "earlier line")}`, "dim")]];
      app.print([[], [span("! ", "accent"), span(command, "bold")], ...more, ...shown]);
    },
    stop: () => {
      running?.stop.abort();
      return running !== undefined;
    },
    get running() {
      return running?.command;
    },
  };
}
