import { describe, expect, it } from "vitest";
import { editorWith } from "../editor/editor.ts";
import { createCompletion } from "./completion.ts";

const completion = createCompletion({
  commands: () => [{ text: "help" }],
  agents: () => [{ text: "Explore", about: "finds code" }, { text: "general-purpose" }],
  files: () => ["src/explore.ts", "agent-notes.md"],
});

function suggested(text: string): readonly string[] {
  completion.update(editorWith(text));
  return completion.texts;
}

describe("a mention", () => {
  it.each([
    ["@ex", ["@Explore", "@src/explore.ts"]],
    ["ask @agent-e", ["@agent-Explore"]],
    ["@agent-", ["@agent-Explore", "@agent-general-purpose", "@agent-notes.md"]],
    ["me@ex", []],
  ])("is completed with agents and files: %s", (text, expected) => expect(suggested(text)).toEqual(expected));
});
