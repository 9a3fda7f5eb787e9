import { displayWidth } from "../fit-line.ts";

interface TestTerminal {
  write(text: string): void;
  /** Returns all rows, including those that scrolled out. */
  screen(): string[];
  resize(height: number): void;
}

/** Emulates as much of a terminal as live lines need, and returns what a person would see, row by row. */
export function createTerminal(columns: number): TestTerminal {
  const rows: string[] = [""];
  let row = 0;
  let column = 0;
  let height = Number.POSITIVE_INFINITY;
  /** Rows above this one have scrolled out; the cursor can't reach them. */
  let top = 0;
  let wraps = true;
  let saved = { row: 0, column: 0 };
  const scroll = (): void => {
    top = Math.max(top, row - height + 1);
  };
  const put = (character: string): void => {
    if (column + displayWidth(character) > columns) {
      if (!wraps) return;
      row += 1;
      column = 0;
    }
    const cells = [...(rows[row] ?? "")];
    while (cells.length < column) cells.push(" ");
    cells[column] = character;
    rows[row] = cells.join("");
    column += 1;
  };
  const control = (parameter: string, letter: string): void => {
    if (letter === "l" || letter === "h") wraps = letter === "h";
    if (letter === "B") row = Math.min(rows.length - 1, row + Number(parameter || 1));
    if (letter === "A") row = Math.max(top, row - Number(parameter || 1));
    if (letter === "K" && parameter === "2") rows[row] = "";
    else if (letter === "K" || letter === "J") rows[row] = [...(rows[row] ?? "")].slice(0, column).join("");
    if (letter === "J") rows.fill("", row + 1);
    if (!"ABKJmlh".includes(letter)) throw new Error(`unknown control sequence ${letter}`);
  };
  return {
    write: (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what a terminal reads
      for (const [token, parameter, letter] of text.matchAll(/\u001b\[\??(\d*)([A-Za-z])|\u001b[78]|./gsu)) {
        if (token === "\u001b7") saved = { row, column };
        else if (token === "\u001b8") ({ row, column } = saved);
        else if (letter !== undefined) control(parameter ?? "", letter);
        else if (token === "\r") column = 0;
        else if (token === "\n") {
          row += 1;
          column = 0;
          rows[row] ??= "";
        } else put(token);
        scroll();
      }
    },
    resize: (now) => {
      // A terminal that becomes smaller first drops the rows below the cursor. Rows that scrolled out come back later.
      if (now < height) rows.length = Math.min(rows.length, Math.max(row + 1, top + now));
      if (now > height) top = Math.max(0, top - (now - height));
      height = now;
      scroll();
    },
    screen: () => rows.join("\n").replace(/\s+$/, "").split("\n"),
  };
}
