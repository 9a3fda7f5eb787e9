import { textOf } from "../../protocol/index.ts";
import type { Drawing, Layer } from "../app.ts";
import type { MainScreenParts } from "../main-screen.ts";
import { type Row, span, textOfRow } from "../screen/row.ts";
import { cut, preview, wrap } from "../screen/text.ts";
import { shownPrompt } from "../typed-prompt.ts";

/** The terminal for screen readers: everything is printed once, and only the user's input is drawn. */
export interface PlainScreen {
  /** Prints what has changed outside the conversation, such as the queue. `top`: the layer that has the focus. */
  speak(top: Layer | undefined): void;
  /** Draws the user's input: the prompt box, or the given layer's input. */
  draw(top: Layer | undefined): Drawing;
}

/** Height of the prompt box in rows. */
const BOX_ROWS = 5;
/** Maximum number of columns for a queued prompt. */
const MAX_PROMPT = 200;

export function createPlainScreen(parts: MainScreenParts): PlainScreen {
  const { screen, feed, submit, later, box, requests } = parts;
  /** What has been said, so that it is not repeated. */
  let said: ReadonlySet<string> = new Set();

  /** Returns the sentences that describe the current state, with a key for each. */
  function sentences(top: Layer | undefined): ReadonlyMap<string, string> {
    const { columns } = screen.size;
    const prompt = (content: Parameters<typeof textOf>[0]): string =>
      cut(preview(shownPrompt(textOf(content))), MAX_PROMPT);
    return new Map([
      ...feed.view.queue.map(({ promptId, content }): [string, string] => [
        promptId,
        `Queued: ${prompt(content)}. Up edits it, and Ctrl+S sends it now.`,
      ]),
      ...submit.held.map((content, index): [string, string] => [
        `held ${index} ${textOf(content)}`,
        `Held back: ${prompt(content)}. Enter sends it, and Up edits it.`,
      ]),
      ...(later.text === undefined ? [] : [[later.text, `${later.text} Esc stays.`] as const]),
      // A request is printed as a whole unless the user is busy.
      ...(top === undefined && box.isEmpty ? [] : requests.rows(columns)).map((row): [string, string] => {
        const text = textOfRow(row).replace("?", "").trim();
        const at = text.lastIndexOf("  Tab ");
        const wish = text.slice(0, at).trimEnd();
        return [text, `${wish}${/[.?!]$/.test(wish) ? "" : "."} ${text.slice(at).trim()}`];
      }),
    ]);
  }

  return {
    speak: (top) => {
      const now = sentences(top);
      const added = [...now].filter(([key]) => !said.has(key));
      said = new Set(now.keys());
      if (added.length === 0) return;
      const columns = screen.size.columns - 1;
      screen.print([[], ...added.flatMap(([, sentence]) => wrap([span(sentence)], { columns }))]);
    },
    draw: (top) => {
      const { columns, rows } = screen.size;
      if (top === undefined) return box.draw({ columns, rows: BOX_ROWS }, "");
      if (requests.isEarly(top)) return { rows: [] };
      const layer = top.draw({ columns, rows: rows - 3 });
      const hint: readonly Row[] =
        top.keys.length === 0 ? [] : wrap([span(top.keys.join(", "))], { columns: columns - 1 });
      return { rows: [...layer.rows, ...hint], cursor: layer.cursor };
    },
  };
}
