import { describe, expect, it } from "vitest";
import { outputText, shownPrompt, typedPrompt } from "./typed-prompt.ts";

describe("a prompt that was sent", () => {
  it("is shown as it was typed, with the number of outputs that were sent with it", () => {
    const outputs = [outputText("ls", "a\n```\nb"), outputText("pwd", "/w")];
    const whole = [...outputs, "Look at this"].join("\n\n");
    expect(typedPrompt(whole)).toEqual({ typed: "Look at this", outputs });
    expect(shownPrompt(whole)).toBe("Look at this [+ output of 2 commands]");
    expect(shownPrompt('Follow the skill "review" for "the \\"cart\\"":\n\nDo it.')).toBe('/review the "cart"');
    expect(shownPrompt('Follow the skill "review":\n\nDo it.')).toBe("/review");
    expect(shownPrompt("I ran this command: ls")).toBe("I ran this command: ls");
  });
});
