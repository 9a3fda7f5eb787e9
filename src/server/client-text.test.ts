import { expect, it } from "vitest";
import { clientText } from "./client-text.ts";

it.each([
  ["No provider is configured (from the `model` option).", "No provider is configured (from the `model` field)."],
  ["Pass the `agent: NAME` option.", "Pass the `agent` field."],
  ["Choose one with the `provider` option.", "Choose one with `provider` in the server's settings."],
  [
    'Trust it with "retinue trust add", or for one run with the `trusted` option.',
    'Trust it with "retinue trust add".',
  ],
  [
    "Not trusted. To trust it for one run, use the `trusted` option.",
    "Not trusted. To trust it, run `retinue trust add`.",
  ],
])("rewrites %j for clients of a server", (message, text) => {
  expect(clientText(message)).toBe(text);
});
