import { expect, it } from "vitest";
import { withoutRepeats } from "./without-repeats.ts";

it("repeats a message only after a minute", () => {
  const messages: string[] = [];
  let now = 0;
  const report = withoutRepeats(
    (message) => messages.push(message),
    () => now,
  );
  report("full");
  report("full");
  report("other");
  now = 59_999;
  report("full");
  expect(messages).toEqual(["full", "other"]);
  now = 60_000;
  report("full");
  expect(messages).toEqual(["full", "other", "full"]);
});
