import type { App } from "../app.ts";

/** A letter that does something unless more letters follow: then it was the beginning of a sentence. */
export interface HeldKey {
  /** Carries out an action soon, unless the letter is taken back. */
  press(letter: string, act: () => void): void;
  /** Takes back the letter that was pressed last, if nothing was done yet. Returns it, or an empty text. */
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
