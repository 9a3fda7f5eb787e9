import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import type { TerminalInput } from "../../terminal/index.ts";
import { createTerminalKeys } from "./terminal-keys.ts";

/** A terminal that logs every method call. */
function terminal() {
  const log: string[] = [];
  const events = new EventEmitter();
  const state = { isForeground: true };
  const input: TerminalInput = {
    on: (name, listener) => events.on(name, listener),
    off: (name, listener) => events.off(name, listener),
    setRawMode: (isRaw) => log.push(isRaw ? "raw" : "cooked"),
    resume: () => log.push("read"),
    pause: () => log.push("rest"),
  };
  const keys = createTerminalKeys({
    input,
    onSignal: (name) => log.push(name),
    isForeground: () => state.isForeground,
    onContinued: (listener) => {
      events.on("continued", listener);
      return () => events.off("continued", listener);
    },
  });
  const reader = (name: string) => ({
    onKeys: (bytes: Uint8Array) => log.push(`${name}: ${JSON.stringify(Buffer.from(bytes).toString())}`),
    onContinued: () => log.push(`${name}: continued`),
  });
  const taken = () => log.splice(0);
  const press = (text: string) => events.emit("data", Buffer.from(text));
  return { keys, reader, press, taken, state, resume: () => events.emit("continued") };
}

describe("the keys of a terminal", () => {
  it("are read only while there is a reader, and the terminal is restored afterwards", () => {
    const { keys, reader, press, taken } = terminal();
    const stop = keys.read(reader("one"));
    expect(taken()).toEqual(["raw", "read"]);
    expect(keys.isReading).toBe(true);
    press("a\u0002b\u001b[A");
    expect(taken()).toEqual(['one: "a\\u0002b\\u001b[A"']);
    stop();
    stop();
    expect(taken()).toEqual(["cooked", "rest"]);
    press("\u0002");
    expect(taken()).toEqual([]);
    expect(keys.isReading).toBe(false);
  });

  it("go only to the newest reader", () => {
    const { keys, reader, press, taken } = terminal();
    const stopOne = keys.read(reader("one"));
    const stopTwo = keys.read(reader("two"));
    expect(taken()).toEqual(["raw", "read"]);
    press("y");
    stopTwo();
    press("n");
    stopOne();
    expect(taken()).toEqual(['two: "y"', 'one: "n"', "cooked", "rest"]);
  });

  it("have their usual effects: Ctrl+C interrupts, Ctrl+Z and Ctrl+\\ restore the terminal first", () => {
    const { keys, reader, press, taken } = terminal();
    keys.read(reader("one"));
    taken();
    press("\u0003\u0003");
    expect(taken()).toEqual(["SIGINT", "SIGINT"]);
    // Input that arrives together with an interrupt is not an answer.
    press("y\u0003");
    expect(taken()).toEqual(["SIGINT"]);
    press("\u001a");
    expect(taken()).toEqual(["cooked", "rest", "SIGTSTP"]);
  });

  it("are read again when the process continues in the foreground", () => {
    const { keys, reader, press, taken, resume } = terminal();
    const stop = keys.read(reader("one"));
    press("\u001a");
    taken();
    resume();
    expect(taken()).toEqual(["raw", "read", "one: continued"]);
    // Another process stopped this one, and the shell has changed the terminal since.
    resume();
    expect(taken()).toEqual(["cooked", "rest", "raw", "read", "one: continued"]);
    stop();
    taken();
    resume();
    expect(taken()).toEqual([]);
  });

  it("are not read from a terminal that belongs to another process", () => {
    const { keys, reader, taken, state, resume } = terminal();
    state.isForeground = false;
    keys.read(reader("one"));
    expect(taken()).toEqual([]);
    state.isForeground = true;
    resume();
    expect(taken()).toEqual(["raw", "read", "one: continued"]);
    state.isForeground = false;
    resume();
    expect(taken()).toEqual(["rest"]);
    expect(keys.isReading).toBe(false);
  });
});
