/** The part of a terminal's input that is used here. */
export interface KeyInput {
  setRawMode(isRaw: boolean): unknown;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  off(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface KeyOptions {
  readonly input: KeyInput;
  readonly onBackground: () => void;
  /** Sends it to everybody the terminal itself would send it to. */
  readonly onSignal: (name: NodeJS.Signals) => void;
  /** Whether the terminal is ours now. Who touches one that is not is stopped by the system. */
  readonly isForeground: () => boolean;
  /** Calls back when this process goes on after it was stopped; the result ends that. */
  readonly onContinued: (listener: () => void) => () => void;
}

export interface TerminalKeys {
  /** Single keys are read only while it is wanted: words typed ahead are for whoever comes next. */
  listen(isWanted: boolean): void;
  readonly isListening: boolean;
}

const CTRL_B = 0x02;

/** What the terminal does by itself as long as nobody reads single keys. */
const signals: Readonly<Record<number, NodeJS.Signals>> = { 3: "SIGINT", 26: "SIGTSTP", 28: "SIGQUIT" };

/** Reads Ctrl+B from a terminal, and does for the other keys what the terminal would have done. */
export function createTerminalKeys({
  input,
  onBackground,
  onSignal,
  isForeground,
  onContinued,
}: KeyOptions): TerminalKeys {
  let isWanted = false;
  let isOn = false;
  let forget = () => {};

  const onData = (bytes: Uint8Array): void => {
    for (const byte of bytes) {
      const name = signals[byte];
      if (byte === CTRL_B) onBackground();
      if (name === undefined) continue;
      // Whoever has the terminal while this process is stopped, or after it, must find it as it was.
      if (name !== "SIGINT") turn(false);
      onSignal(name);
    }
  };
  const turn = (on: boolean): void => {
    if (on === isOn) return;
    isOn = on;
    input.setRawMode(on);
    if (on) input.on("data", onData);
    else input.off("data", onData);
    if (on) input.resume();
    else input.pause();
  };
  const goOn = (): void => {
    const isOurs = isForeground();
    // In the background the terminal is not to be touched, not even to give it back.
    if (isOn && !isOurs) {
      isOn = false;
      input.off("data", onData);
      input.pause();
    }
    if (!isOurs) return;
    // A shell may have changed it in the meantime.
    turn(false);
    turn(isWanted);
  };
  return {
    listen: (wanted) => {
      if (wanted === isWanted) return;
      isWanted = wanted;
      forget();
      forget = wanted ? onContinued(goOn) : () => {};
      if (isForeground()) turn(wanted);
    },
    get isListening() {
      return isOn;
    },
  };
}
