export interface BlockOptions {
  readonly write: (text: string) => void;
  /** Returns the last known height of the terminal. */
  readonly rows: () => number;
}

/**
 * Lines at the bottom of a terminal that are redrawn in place. Nothing else moves the cursor. Between two draws, the
 * cursor is at the start of the first line, because a terminal that is resized wraps and moves rows, but keeps the
 * cursor with its text. A terminal that becomes shorter drops the rows below the cursor instead of moving others into
 * its history.
 */
export interface Block {
  /** Draws the lines. There must be fewer lines than the terminal has rows. Lines that are too long are cut. */
  draw(lines: readonly string[]): void;
  /** Prints text that stays above the lines. The text must end with a newline. */
  print(text: string, lines: readonly string[]): void;
  clear(): void;
}

const save = "\u001b7";
const restore = "\u001b8";
const clearBelow = "\u001b[J";
const clearRight = "\u001b[K";
/** Moves to the start of the next row and never scrolls. */
const down = "\u001b[1B\r";
/**
 * Clears the first row on its own, because some terminals keep text in their history if everything from the first cell
 * on is cleared.
 */
const erase = `\r\u001b[2K${save}${down}${clearBelow}${restore}`;
const wrapOff = "\u001b[?7l";
const wrapOn = "\u001b[?7h";

export function createBlock({ write, rows }: BlockOptions): Block {
  let isDrawn = false;
  /** Number of rows that the terminal is known to have, counted from the first line. */
  let reserved = 1;
  let height = rows();

  /** Makes room below the first line by scrolling. */
  const reserve = (count: number): string => {
    if (rows() !== height) reserved = 1;
    height = rows();
    if (count <= reserved) return "";
    reserved = count;
    return `${"\n".repeat(count - 1)}\u001b[${count - 1}A\r`;
  };
  // The terminal may already be smaller than we know, so nothing in the output wraps or scrolls.
  const drawn = (lines: readonly string[]): string => {
    isDrawn = lines.length > 0;
    if (!isDrawn) return "";
    // The text is overwritten before the rest is cleared, so that nothing flickers.
    const text = `${lines.join(`${clearRight}${down}`)}${clearBelow}`;
    return `${reserve(lines.length)}${save}${wrapOff}${text}${restore}${wrapOn}`;
  };
  const erased = (): string => {
    if (!isDrawn) return "";
    isDrawn = false;
    return erase;
  };
  return {
    draw: (lines) => {
      const start = lines.length === 0 ? erased() : "";
      const text = `${start}${drawn(lines)}`;
      if (text !== "") write(text);
    },
    print: (text, lines) => {
      const start = erased();
      reserved = 1;
      write(`${start}${text}${drawn(lines)}`);
    },
    clear: () => {
      const text = erased();
      reserved = 1;
      if (text !== "") write(text);
    },
  };
}
