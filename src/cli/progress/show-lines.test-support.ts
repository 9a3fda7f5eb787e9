import { createBlock } from "./block.ts";

// Redraws six lines as wide as the terminal until the process is killed.
const block = createBlock({ write: (text) => process.stdout.write(text), rows: () => process.stdout.rows });
const lines = (): readonly string[] => {
  const { columns, rows } = process.stdout;
  const count = Math.min(6, rows - 1);
  const width = columns - 1;
  return Array.from({ length: count }, (_, at) => `line ${at} of ${count} at ${width} `.padEnd(width, "x"));
};
for (let at = 0; at < 30; at++) block.print(`printed ${at}\n`, lines());
setInterval(() => block.draw(lines()), 20);
