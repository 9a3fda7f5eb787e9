import { describe, expect, it } from "vitest";
import { askForAgent } from "./new.ts";

function dialogWith(answers: readonly string[]) {
  const left = [...answers];
  const said: string[] = [];
  return {
    left,
    said,
    ask: async (question: string) => {
      said.push(question.replace(/[,:?].*$/, ""));
      const answer = left.shift();
      if (answer === undefined) throw new Error("more questions were asked than the test answers");
      return answer;
    },
    report: (sentence: string) => void said.push(`! ${sentence}`),
    checkName: (name: string) => (name.includes("/") ? `no ${name}` : undefined),
  };
}

describe("asking for an agent", () => {
  it("rejects an invalid name immediately, and asks again", async () => {
    const dialog = dialogWith(["a/b", "../c", "good", "", "Does it.", "Read, Grep", ""]);
    expect(await askForAgent({}, dialog)).toEqual({ name: "good", description: "Does it.", tools: ["Read", "Grep"] });
    expect(dialog.left).toEqual([]);
    expect(dialog.said).toEqual([
      "Name",
      "! no a/b",
      "Name",
      "! no ../c",
      "Name",
      "What does it do",
      "! Models choose an agent by its description, so a description is required.",
      "What does it do",
      "Tools",
      "Model",
    ]);
  });

  it("asks only for missing values", async () => {
    const dialog = dialogWith(["Does it."]);
    const given = { name: "a", tools: [], model: "small" };
    expect(await askForAgent(given, dialog)).toEqual({ ...given, description: "Does it." });
    expect(dialog.said).toEqual(["What does it do"]);
  });

  it("omits fields with an empty answer", async () => {
    expect(await askForAgent({ name: "a" }, dialogWith(["Does it.", "", ""]))).toEqual({
      name: "a",
      description: "Does it.",
    });
  });
});
