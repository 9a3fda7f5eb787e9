import { execFileSync, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { TerminalInput } from "../../terminal/index.ts";
import { createTerminalKeys } from "./terminal-keys.ts";
import { openPrompt } from "./terminal-prompt.ts";

/** A terminal whose keys the test presses. `shown` resolves when the output contains the given text. */
function terminal() {
  const events = new EventEmitter();
  const input: TerminalInput = {
    on: (name, listener) => events.on(name, listener),
    off: (name, listener) => events.off(name, listener),
    setRawMode: () => undefined,
    resume: () => undefined,
    pause: () => undefined,
  };
  const onContinued = (listener: () => void) => {
    events.on("continued", listener);
    return () => events.off("continued", listener);
  };
  const keys = createTerminalKeys({ input, onSignal: () => {}, isForeground: () => true, onContinued });
  let text = "";
  const output = new Writable({
    write: (bytes, _, done) => {
      text += String(bytes);
      events.emit("written");
      done();
    },
  });
  const shown = async (wanted: string): Promise<void> => {
    while (!text.includes(wanted)) await new Promise((resolve) => events.once("written", resolve));
    text = "";
  };
  const press = (typed: string) => events.emit("data", Buffer.from(typed));
  const state = { more: "" };
  const prompt = openPrompt({ keys, output, more: () => state.more });
  return { prompt, press, shown, state, resume: () => events.emit("continued") };
}

const choices = { y: "once", n: "no" };
const never = new AbortController().signal;

describe("a key", () => {
  it("is accepted only after a pause in typing, and only on its own", async () => {
    const { prompt, press, shown } = terminal();
    const answer = prompt.key(choices, never);
    // These keys were typed before the question was shown, or at the same moment.
    press("y");
    press("y");
    await shown("y once · n no");
    for (const typed of ["yes", "yy", "\u001b[A", "x", "\r", "Y"]) press(typed);
    press("n");
    expect(await answer).toBe("n");
  });

  it("is ignored if it is typed while the process is busy, no matter how long that takes", async () => {
    const { prompt, press, shown } = terminal();
    const typed = join(mkdtempSync(join(tmpdir(), "retinue-keys-")), "typed");
    const source = spawn("sh", ["-c", `sleep 0.1; printf y; touch '${typed}'`]);
    source.stdout.on("data", (bytes) => press(String(bytes)));
    const closed = once(source, "close");
    await once(source, "spawn");
    const answer = prompt.key(choices, never);
    execFileSync("sh", ["-c", `until [ -e '${typed}' ]; do sleep 0.05; done; sleep 0.4`]);
    await shown("y once");
    await closed;
    press("n");
    expect(await answer).toBe("n");
  });

  it("is no longer awaited after the signal fires", async () => {
    const { prompt, shown } = terminal();
    const stop = new AbortController();
    const early = prompt.key(choices, stop.signal);
    const late = new AbortController();
    stop.abort();
    expect(await early).toBeUndefined();
    const answer = prompt.key(choices, late.signal);
    await shown("y once");
    late.abort();
    expect(await answer).toBeUndefined();
  });

  it("is requested again when more requests arrive, and after another program has used the terminal", async () => {
    const { prompt, press, shown, state, resume } = terminal();
    await prompt.show("The question\n");
    const answer = prompt.key(choices, never);
    await shown("y once");
    state.more = "1 more waiting";
    prompt.redraw();
    await shown("n no · 1 more waiting");
    resume();
    await shown("The question\n\r\u001b[2K  y once");
    // This key may have been meant for the other program.
    press("y");
    const pressing = setInterval(() => press("n"), 20);
    expect(await answer).toBe("n");
    clearInterval(pressing);
  });
});

describe("a line", () => {
  it("begins with the given text, and shows line breaks and tabs in pasted text", async () => {
    // In a terminal of type "dumb", Node's line editor inserts the Backspace key as a character.
    vi.stubEnv("TERM", "xterm");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { prompt, press, shown } = terminal();
    const line = prompt.line({ label: "> ", text: "ls" }, never);
    await shown("ls");
    press(" -l\r\nrm\tx");
    press("\u007f");
    press("\r");
    expect(await line).toBe("ls -l↵rm⇥");
  });

  it.each([
    ["Esc", "\u001b"],
    ["Ctrl+D", "\u0004"],
  ])("is abandoned with %s", async (_, typed) => {
    const { prompt, press, shown } = terminal();
    const line = prompt.line({ label: "> " }, never);
    await shown("> ");
    press(typed);
    expect(await line).toBeUndefined();
  });
});
