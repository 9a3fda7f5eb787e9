import { displayWidth } from "../fit-line.ts";

export interface BlockOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  /** Of the terminal. */
  readonly rows: () => number;
}

/** Lines at the end of what is on a terminal, drawn over in place. The only one who moves the cursor. */
export interface Block {
  /** No line may be as wide as the terminal. */
  draw(lines: readonly string[]): void;
  /** Text that stays, above the lines. Ends with a newline. */
  print(text: string, lines: readonly string[]): void;
  clear(): void;
}

const clearBelow = "\u001b[J";
const clearRight = "\u001b[K";
const clearLine = "\r\u001b[2K";

export function createBlock({ write, columns, rows: height }: BlockOptions): Block {
  let widths: readonly number[] = [];
  /** Rows that a terminal had no room for any more when it became lower: out of reach, until it is higher again. */
  let lost = 0;
  let before = { columns: 0, height: 0 };

  /** A terminal that became narrower shows a line as several. */
  const rows = (): number =>
    widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / Math.max(1, columns()))), 0);
  const home = (): string => {
    const up = rows() - 1 + takeBack();
    return up > 0 ? `\u001b[${up}A\r` : "\r";
  };
  const takeBack = (): number => {
    const now = { columns: columns(), height: height() };
    // One that is wider or narrower puts its rows together anew: what stands where ours were may be another's.
    if (now.columns !== before.columns) lost = 0;
    const back = Math.min(lost, Math.max(0, now.height - before.height));
    lost += Math.max(0, rows() - now.height) - back;
    before = now;
    return back;
  };
  // Row by row: some terminals keep in their history what is cleared from the first cell on.
  const erase = (): string => (widths.length === 0 ? "" : `${clearLine}${`\u001b[1A${clearLine}`.repeat(rows() - 1)}`);
  const remember = (lines: readonly string[]): void => {
    widths = lines.map((line) => displayWidth(plain(line)));
  };
  return {
    draw: (lines) => {
      if (lines.length === 0 && widths.length === 0) return;
      const isFirst = widths.length === 0;
      // Drawn over before what is left of the old is cleared: nothing is blank for a moment.
      const text = isFirst ? lines.join("\n") : `${home()}${lines.join(`${clearRight}\n`)}${clearBelow}`;
      remember(lines);
      write(text);
    },
    print: (text, lines) => {
      const start = erase();
      // It stands between them and us from now on.
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
