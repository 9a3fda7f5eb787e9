import { describe, expect, it } from "vitest";
import { hintRow } from "./frame.ts";
import { span, textOfRow } from "./screen/row.ts";

describe("the last line", () => {
  const keys = ["Enter queues", "Esc interrupts", "↓ agents", "/ commands"];
  const facts = ["claude-sonnet-5-5", "context 12 %", "$0.02"];

  it.each([
    [100, "  Enter queues · Esc interrupts · ↓ agents · / commands    claude-sonnet-5-5 · context 12 % · $0.02"],
    [90, /^ {2}Enter queues · Esc interrupts · ↓ agents · \/ commands +claude-sonnet-5-5 · context 12 %$/],
    [70, "  Enter queues · Esc interrupts · ↓ agents · / commands"],
    [40, "  Enter queues · Esc interrupts"],
  ])("shows the keys first in %i columns, and facts only if there is room", (columns, expected) => {
    expect(textOfRow(hintRow({ keys, facts }, columns))).toMatch(expected);
  });

  it("always shows the mode", () => {
    const row = hintRow({ keys, mode: span("bypassPermissions", "bad"), facts }, 40);
    expect(textOfRow(row)).toMatch(/^ {2}Enter queues +bypassPermissions$/);
  });
});
