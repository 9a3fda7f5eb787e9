/** Messages that briefly replace the key hints. Some of them announce what a key does if it is pressed again. */
export interface Flash {
  /** Undefined if there is nothing to show. */
  readonly text: string | undefined;
  /** Shows a message. `next`: the key that the message announces, and its effect. */
  show(text: string, next?: Announcement): void;
  /** Returns whether a message that is still shown announces this effect of the key, and hides the message. */
  isAnnounced(next: Announcement): boolean;
  /** Must be called for every key. A key other than the announced one hides the message. */
  onKey(key: string): void;
}

export interface Announcement {
  readonly key: string;
  readonly effect: "interrupt" | "clear" | "quit";
}

/** How long a message is shown. An announced key has to be pressed within this time. */
const SHOWN_MS = 2_000;

/** Creates the message. In plain mode, `print` prints it instead. */
export function createFlash(redraw: () => void, print?: (text: string) => void): Flash {
  let shown: { readonly text: string; readonly until: number; readonly next: Announcement | undefined } | undefined;
  const current = (): typeof shown => (shown !== undefined && shown.until > Date.now() ? shown : undefined);
  return {
    get text() {
      return current()?.text;
    },
    show: (text, next) => {
      print?.(text);
      shown = { text, until: Date.now() + SHOWN_MS, next };
      setTimeout(redraw, SHOWN_MS + 10).unref();
    },
    isAnnounced: ({ key, effect }) => {
      const next = current()?.next;
      const isSame = next?.key === key && next.effect === effect;
      if (isSame) shown = undefined;
      return isSame;
    },
    onKey: (key) => {
      if (shown?.next !== undefined && shown.next.key !== key) shown = undefined;
    },
  };
}
