import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { createTerminalKeys, type KeyInput } from "./background-key.ts";

/** A terminal that logs every call of its methods. */
function terminal() {
  const log: string[] = [];
  const events = new EventEmitter();
  const state = { isForeground: true };
  const input: KeyInput = {
    on: (name, listener) => events.on(name, listener),
    off: (name, listener) => events.off(name, listener),
    setRawMode: (isRaw) => log.push(isRaw ? "raw" : "cooked"),
    resume: () => log.push("read"),
    pause: () => log.push("rest"),
  };
  const keys = createTerminalKeys({
    input,
    onBackground: () => log.push("background"),
    onSignal: (name) => log.push(name),
    isForeground: () => state.isForeground,
    onContinued: (listener) => {
      events.on("continued", listener);
      return () => events.off("continued", listener);
    },
  });
  const taken = () => log.splice(0);
  const press = (text: string) => events.emit("data", Buffer.from(text));
  return { keys, press, taken, state, resume: () => events.emit("continued") };
}

describe("keys of a terminal", () => {
  it("are read while it is wanted, and the terminal is given back", () => {
    const { keys, press, taken } = terminal();
    keys.listen(true);
    keys.listen(true);
    expect(taken()).toEqual(["raw", "read"]);
    expect(keys.isListening).toBe(true);
    press("a\u0002b\u001b[A");
    expect(taken()).toEqual(["background"]);
    keys.listen(false);
    expect(taken()).toEqual(["cooked", "rest"]);
    press("\u0002");
    expect(taken()).toEqual([]);
    expect(keys.isListening).toBe(false);
  });

  it("do what the terminal would have done: Ctrl+C interrupts, Ctrl+Z and Ctrl+\\ find it as it was", () => {
    const { keys, press, taken } = terminal();
    keys.listen(true);
    taken();
    press("\u0003\u0003");
    expect(taken()).toEqual(["SIGINT", "SIGINT"]);
    press("\u001a");
    expect(taken()).toEqual(["cooked", "rest", "SIGTSTP"]);
  });

  it("are read again when the process goes on in the foreground", () => {
    const { keys, press, taken, resume } = terminal();
    keys.listen(true);
    press("\u001a");
    taken();
    resume();
    expect(taken()).toEqual(["raw", "read"]);
    // Another process stopped this one, and the shell has changed the terminal since.
    resume();
    expect(taken()).toEqual(["cooked", "rest", "raw", "read"]);
    keys.listen(false);
    taken();
    resume();
    expect(taken()).toEqual([]);
  });

  it("leave a terminal alone that is not ours", () => {
    const { keys, taken, state, resume } = terminal();
    state.isForeground = false;
    keys.listen(true);
    expect(taken()).toEqual([]);
    state.isForeground = true;
    resume();
    expect(taken()).toEqual(["raw", "read"]);
    state.isForeground = false;
    resume();
    expect(taken()).toEqual(["rest"]);
    expect(keys.isListening).toBe(false);
  });
});
