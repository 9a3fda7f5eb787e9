import { displayWidth } from "../fit-line.ts";

export interface BlockOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  /** Height of the terminal. */
  readonly rows: () => number;
}

/** Lines at the bottom of a terminal that are redrawn in place. Nothing else moves the cursor. */
export interface Block {
  /** Every line must be narrower than the terminal. */
  draw(lines: readonly string[]): void;
  /** Prints text that stays above the lines. It must end with a newline. */
  print(text: string, lines: readonly string[]): void;
  clear(): void;
}

const clearBelow = "\u001b[J";
const clearRight = "\u001b[K";
const clearLine = "\r\u001b[2K";

export function createBlock({ write, columns, rows: height }: BlockOptions): Block {
  let widths: readonly number[] = [];
  /** Rows that scrolled out when the terminal became lower; the cursor can't reach them until it is higher again. */
  let lost = 0;
  let before = { columns: 0, height: 0 };

  /** Counts several rows for a line if the terminal became narrower. */
  const rows = (): number =>
    widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / Math.max(1, columns()))), 0);
  const home = (): string => {
    const up = rows() - 1 + takeBack();
    return up > 0 ? `\u001b[${up}A\r` : "\r";
  };
  const takeBack = (): number => {
    const now = { columns: columns(), height: height() };
    // A terminal that changed its width wraps its rows again, so other text may be where ours was.
    if (now.columns !== before.columns) lost = 0;
    const back = Math.min(lost, Math.max(0, now.height - before.height));
    lost += Math.max(0, rows() - now.height) - back;
    before = now;
    return back;
  };
  // Row by row: some terminals keep text in their history if it is cleared from the first cell on.
  const erase = (): string => (widths.length === 0 ? "" : `${clearLine}${`\u001b[1A${clearLine}`.repeat(rows() - 1)}`);
  const remember = (lines: readonly string[]): void => {
    widths = lines.map((line) => displayWidth(plain(line)));
  };
  return {
    draw: (lines) => {
      if (lines.length === 0 && widths.length === 0) return;
      const isFirst = widths.length === 0;
      // Overwrites before it clears the rest, so that nothing flickers.
      const text = isFirst ? lines.join("\n") : `${home()}${lines.join(`${clearRight}\n`)}${clearBelow}`;
      remember(lines);
      write(text);
    },
    print: (text, lines) => {
      const start = erase();
      // From now on the text is between the lost rows and ours.
      lost = 0;
      remember(lines);
      write(`${start}${text}${lines.join("\n")}`);
    },
    clear: () => {
      if (widths.length === 0) return;
      write(erase());
      lost = 0;
      widths = [];
    },
  };
}

function plain(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  return line.replace(/\u001b\[\d*m/g, "");
}
