import { expect, it } from "vitest";
import { looseReadings } from "./loose-readings.ts";

it.each([
  "t''ouch x",
  't"o"uch x',
  "\\touch x",
  "$'\\x74ouch' x",
  "sh -c'touch x'",
  "to\\\nuch x",
  "{touch,x}",
  "a;touch x",
  "$'\\164ouch' x",
])("a loose reading finds touch in %j", (command) => {
  expect(looseReadings(command).some((reading) => reading.words().includes("touch"))).toBe(true);
});
