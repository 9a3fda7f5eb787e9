/** Messages that briefly replace the key hints, and detection of keys that must be pressed twice. */
export interface Flash {
  /** Undefined if there is nothing to show. */
  readonly text: string | undefined;
  show(text: string): void;
  /** Returns whether the same key was pressed a moment ago. */
  isAgain(key: string): boolean;
  /** Must be called for every key. A different key cancels the wait for a second press and hides its message. */
  onKey(key: string): void;
}

/** How long a message is shown. A key that must be pressed twice has to be pressed again within this time. */
const SHOWN_MS = 2_000;

/** Creates the message. In plain mode, `print` prints it instead. */
export function createFlash(redraw: () => void, print?: (text: string) => void): Flash {
  let shown: { readonly text: string; readonly until: number } | undefined;
  let pressed: { readonly key: string; readonly at: number } | undefined;
  return {
    get text() {
      return shown !== undefined && shown.until > Date.now() ? shown.text : undefined;
    },
    show: (text) => {
      print?.(text);
      shown = { text, until: Date.now() + SHOWN_MS };
      setTimeout(redraw, SHOWN_MS + 10).unref();
    },
    isAgain: (key) => {
      const isSame = pressed?.key === key && Date.now() - pressed.at < SHOWN_MS;
      pressed = isSame ? undefined : { key, at: Date.now() };
      if (isSame) shown = undefined;
      return isSame;
    },
    onKey: (key) => {
      if (pressed === undefined || pressed.key === key) return;
      pressed = undefined;
      shown = undefined;
    },
  };
}
