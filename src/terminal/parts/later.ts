/** An action to perform when all agents have finished, such as quitting. */
export interface Later {
  /** Says what will happen; undefined if nothing is planned. */
  readonly text: string | undefined;
  /**
   * Acts when all agents have finished and the user is not busy. Replaces what was planned before. `what`: name of the
   * action, such as `Quitting`.
   */
  plan(what: string, act: () => void): void;
  /** Forgets what was planned. Returns false if there was nothing. */
  cancel(): boolean;
}

export interface LaterOptions {
  /** Returns whether agents are running or prompts are queued. */
  readonly isWorking: () => boolean;
  /** Returns whether the user is writing or answering something. */
  readonly isOccupied: () => boolean;
  readonly redraw: () => void;
}

/** Interval between checks for whether all agents have finished. */
const CHECK_MS = 100;

export function createLater({ isWorking, isOccupied, redraw }: LaterOptions): Later {
  let planned: { readonly text: string; readonly timer: NodeJS.Timeout } | undefined;
  const cancel = (): boolean => {
    const wasPlanned = planned !== undefined;
    clearInterval(planned?.timer);
    planned = undefined;
    return wasPlanned;
  };
  return {
    get text() {
      return planned?.text;
    },
    plan: (what, act) => {
      cancel();
      const timer = setInterval(() => {
        if (isWorking() || isOccupied()) return;
        cancel();
        act();
      }, CHECK_MS);
      planned = { text: `${what} when all agents have finished.`, timer };
      redraw();
    },
    cancel,
  };
}
