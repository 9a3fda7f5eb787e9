import type { App, Layer } from "../app.ts";
import { createLineInput } from "../parts/line-input.ts";
import { span } from "../screen/row.ts";
import { cleanLine } from "../screen/text.ts";

export interface TextQuestion {
  /** Shown before the text: `Number: `. */
  readonly label: string;
  /** Called when the user presses Enter. Returns whether the question is answered; if not, the user can try again. */
  readonly onText: (text: string) => boolean;
  readonly onCancel: () => void;
}

/** Asks for a line of text. What the user enters stays in the terminal. */
export function askForText(app: App, { label, onText, onCancel }: TextQuestion): void {
  let line = createLineInput(label);
  const layer: Layer = {
    keys: [],
    draw: ({ columns }) => line.draw(columns),
    key: (key) => {
      const result = line.key(key);
      if (result === "edited") return true;
      const { text } = line;
      line = createLineInput(label);
      if (result === "done") app.print([[span(cleanLine(`  ${label}${text}`))]]);
      const isAnswered = result === "back" || onText(text.trim());
      if (isAnswered) app.close(layer);
      if (result === "back") onCancel();
      return true;
    },
  };
  app.open(layer);
}
