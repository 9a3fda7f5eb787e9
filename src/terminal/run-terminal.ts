import { spawn } from "node:child_process";
import { createController } from "./controller.ts";
import { loadHighlighter } from "./conversation/highlight.ts";
import type { TerminalProgram } from "./program.ts";
import { openInput, type TerminalInput } from "./screen/open-input.ts";
import { createPaint, type Row, span } from "./screen/row.ts";
import { createScreen, type Position, type ScreenOutput } from "./screen/screen.ts";

export interface TerminalOptions {
  readonly program: TerminalProgram;
  readonly input: TerminalInput;
  readonly output: ScreenOutput & NodeJS.EventEmitter;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Complete id of the session to resume. */
  readonly resume?: string | undefined;
  /** First prompt. */
  readonly prompt?: string | undefined;
  /** Shows everything as plain sentences, for screen readers. */
  readonly isPlain?: boolean | undefined;
  /** Fires when the process is asked to end. */
  readonly signal: AbortSignal;
}

/** Leaves the alternate screen, shows the cursor, and turns off bracketed paste. */
const RESTORE = "\u001b[?1049l\u001b[?25h\u001b[?2004l";

/** Minimum time between two frames that were not caused by a key. */
const FRAME_MS = 33;

/**
 * Time to wait after the terminal's size has changed, until no further change is expected. tmux reports changes up to
 * 250 ms late.
 */
const SETTLE_MS = 400;

/** Time within which the terminal reports the cursor's position. Some terminals never do. */
const POSITION_MS = 500;
/** Time between two answers of the terminal that must be the same before a frame is drawn. */
const AGAIN_MS = 60;

/** Runs the terminal interface until the user leaves. Rejects if no session can be opened at the start. */
export async function runTerminal(options: TerminalOptions): Promise<void> {
  const { program, input, output, environment, signal, isPlain = false } = options;
  const { NO_COLOR = "", TERM, XTERM_VERSION } = environment;
  const screen = createScreen({
    output,
    paint: createPaint({ hasColor: NO_COLOR === "" && TERM !== "dumb" }),
    // These terminals cut off rows instead of rewrapping them.
    reflows: XTERM_VERSION === undefined && TERM !== "linux",
  });
  let leave = (): void => {};
  let fail = (_: unknown): void => {};
  const left = new Promise<void>((resolve, reject) => {
    leave = resolve;
    fail = reject;
  });

  let drawnAt = 0;
  /** Whether another program is using the terminal. */
  let isSuspended = false;
  let isEditing = false;
  let isSlow = false;
  let timer: NodeJS.Timeout | undefined;
  let settling: NodeJS.Timeout | undefined;
  /** Set while the terminal has been asked for its size, or is about to be asked again. */
  let asking: NodeJS.Timeout | undefined;
  const draw = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (isSuspended) return;
    // A slow connection gets fewer frames instead of late ones.
    if (output.writableNeedDrain) {
      if (!isSlow) output.once("drain", onDrain);
      isSlow = true;
    } else {
      drawnAt = Date.now();
      if (screen.measure()) {
        clearTimeout(settling);
        settling = setTimeout(settle, SETTLE_MS);
      }
      if (asking !== undefined) return;
      if (screen.locate()) controller.draw();
      else asking = setTimeout(() => onPosition(undefined), POSITION_MS);
    }
  };
  const onPosition = (position: Position | undefined): void => {
    const result = screen.located(position);
    if (result === "incomplete") return;
    clearTimeout(asking);
    asking = undefined;
    if (result === "located" && !isSuspended) controller.draw();
    else asking = setTimeout(askAgain, AGAIN_MS);
  };
  const askAgain = (): void => {
    asking = undefined;
    draw();
  };
  const settle = (): void => {
    screen.settled();
    draw();
  };
  const redraw = (): void => {
    timer ??= setTimeout(draw, Math.max(0, drawnAt + FRAME_MS - Date.now()));
  };
  const onDrain = (): void => {
    isSlow = false;
    redraw();
  };
  const clear = (): void => {
    output.write("\u001b[H\u001b[2J");
    screen.forget();
    redraw();
  };
  /** Hands the terminal over to another program. */
  const edit = async (file: string): Promise<void> => {
    isEditing = true;
    isSuspended = true;
    stopReading();
    screen.close();
    const editor = environment["VISUAL"] || environment["EDITOR"] || "vi";
    const child = spawn(editor, [file], { stdio: "inherit", shell: /\s/.test(editor) });
    await new Promise((resolve) => child.on("close", resolve).on("error", resolve));
    isEditing = false;
    isSuspended = false;
    stopReading = read();
    draw();
  };
  const controller = createController({ program, screen, isPlain, redraw, leave, fail, clear, edit });

  const read = (): (() => void) =>
    openInput({
      input,
      write: (text) => output.write(text),
      onKeys: (keys) => {
        const isStop = keys.some((key) => key.kind === "key" && key.name === "ctrl-z");
        controller.keys(keys.filter((key) => key.kind !== "key" || key.name !== "ctrl-z"));
        if (isStop) suspend();
        else draw();
      },
      onPosition,
    });
  let stopReading = read();
  const suspend = (): void => {
    isSuspended = true;
    stopReading();
    screen.close();
    process.kill(0, "SIGTSTP");
  };
  const onContinued = (): void => {
    if (isEditing) return;
    isSuspended = false;
    stopReading();
    stopReading = read();
    screen.forget();
    draw();
  };
  // If a bug ends the process, the terminal must be restored for the shell.
  const restore = (): void => void output.write(RESTORE);
  process.on("exit", restore);
  // The terminal may have been closed.
  output.on("error", ignore);
  process.on("SIGCONT", onContinued);
  output.on("resize", draw);
  const tick = setInterval(() => {
    if (controller.isTicking) redraw();
  }, 1_000);

  try {
    void controller.start(options.resume, options.prompt ?? "");
    draw();
    void loadHighlighter();
    await Promise.race([left, aborted(signal)]);
    if (signal.aborted) await controller.close();
  } finally {
    clearInterval(tick);
    clearTimeout(timer);
    clearTimeout(settling);
    clearTimeout(asking);
    process.off("exit", restore);
    process.off("SIGCONT", onContinued);
    output.off("resize", draw);
    const lines = controller.farewell === "" ? [] : controller.farewell.split("\n");
    const farewell: readonly Row[] = lines.length === 0 ? [] : [[], ...lines.map((line) => [span(line, "dim")])];
    screen.print(farewell);
    screen.close();
    stopReading();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function ignore(): void {
  // Nothing can be shown anymore.
}
