import type { App } from "../app.ts";

/** A letter that triggers an action unless more letters follow, in which case it was the beginning of a sentence. */
export interface HeldKey {
  /** Carries out an action after a short delay, unless the letter is taken back. */
  press(letter: string, act: () => void): void;
  /** Takes back the last letter if its action has not been carried out yet. Returns the letter, or an empty string. */
  take(): string;
}

/** Time within which the next letter of a sentence is typed. */
const HOLD_MS = 250;

export function createHeldKey(app: App): HeldKey {
  let held: { readonly letter: string; readonly timer: NodeJS.Timeout } | undefined;
  return {
    press: (letter, act) => {
      const timer = setTimeout(() => {
        held = undefined;
        act();
        app.redraw();
      }, HOLD_MS);
      held = { letter, timer };
    },
    take: () => {
      const { letter = "" } = held ?? {};
      clearTimeout(held?.timer);
      held = undefined;
      return letter;
    },
  };
}
