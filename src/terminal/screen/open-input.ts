import { createBurstDetector } from "./bursts.ts";
import { createKeyDecoder, type Key } from "./keys.ts";
import type { Position } from "./screen.ts";

/** The part of a terminal's input that is used here. */
export interface TerminalInput {
  setRawMode(isRaw: boolean): unknown;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  off(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface InputOptions {
  readonly input: TerminalInput;
  readonly write: (text: string) => unknown;
  /** Receives the keys that arrived together. */
  readonly onKeys: (keys: readonly Key[]) => void;
  /** Receives a position on the screen that the terminal reports. */
  readonly onPosition: (position: Position) => void;
}

/** Time after which a lone escape character is the Esc key. Slow connections split sequences. */
const ESCAPE_MS = 40;

const PASTE_ON = "\u001b[?2004h";
const PASTE_OFF = "\u001b[?2004l";

/** Reads single keys from a terminal, until the returned function restores the terminal. */
export function openInput({ input, write, onKeys, onPosition }: InputOptions): () => void {
  const decoder = createKeyDecoder(onPosition);
  const bursts = createBurstDetector();
  let timer: NodeJS.Timeout | undefined;
  const pass = (keys: readonly Key[]): void => {
    if (keys.length > 0) onKeys(keys);
  };
  const onData = (bytes: Uint8Array): void => {
    pass(bursts.push(decoder.push(bytes)));
    waitForMore();
  };
  /** Passes on the input that is kept for the next read, if that read does not come in time. */
  const waitForMore = (): void => {
    clearTimeout(timer);
    const wait = decoder.isPending ? ESCAPE_MS : bursts.pendingMs;
    if (wait === undefined) return;
    timer = setTimeout(() => {
      pass(decoder.isPending ? bursts.push(decoder.flush()) : bursts.flush());
      waitForMore();
    }, wait);
  };
  input.setRawMode(true);
  write(PASTE_ON);
  input.on("data", onData);
  input.resume();
  return () => {
    clearTimeout(timer);
    input.off("data", onData);
    input.setRawMode(false);
    input.pause();
    write(PASTE_OFF);
  };
}
