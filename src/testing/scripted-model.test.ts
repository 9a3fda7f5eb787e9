import { describe, expect, it } from "vitest";
import { createCast, createScriptedModel, type ScriptedAnswer } from "./scripted-model.ts";

describe("a scripted model", () => {
  it.each([
    [{ content: "Hello." }, 'Answer 2 of the scripted model has an unknown field "content". Use { text: "Hello." }'],
    ["Hello.", "Answer 2 of the scripted model is not an object."],
    [{ calls: [{ tool: "Read", input: {} }] }, "Answer 2 of the scripted model has an invalid call."],
  ])("rejects the answer %j when it is created", (answer, message) => {
    const script = [{ text: "Yes." }, answer as ScriptedAnswer];
    expect(() => createScriptedModel(script)).toThrow(message);
    expect(() => createCast({ "Look for bugs": script })).toThrow(message);
  });
});
