import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Skills } from "../../ports/index.ts";
import { callTool, textOfOutput } from "../shared/tool-place.test-support.ts";
import { createSkillTool, fillArguments } from "./skill.ts";

/** Creates a skill catalog with one skill. */
const shelf = (body: string): Skills => ({
  list: () => "- deploy: Ships it.",
  load: async (name) =>
    name === "deploy"
      ? { ok: true, name, body, directory: "/skills/deploy" }
      : { ok: false, message: `There is no skill "${name}".` },
});

describe("Skill", () => {
  it("lists the skills in its declaration, and returns a skill's body and directory", async () => {
    const tool = createSkillTool({ skills: shelf("\nRun steps.md, then `!date`.\n") });
    expect(tool.declaration.description).toMatch(/\n\n- deploy: Ships it\.$/);
    const output = await callTool(tool, { skill: "deploy" });
    expect(output.isError).toBeUndefined();
    expect(textOfOutput(output)).toBe(
      "Skill deploy. Paths in it are relative to /skills/deploy, where you can Read its files.\n\nRun steps.md, then `!date`.",
    );
    expect(output.details).toEqual({ skill: "deploy", directory: "/skills/deploy" });
  });

  it("passes arguments on, and reports an unknown name", async () => {
    const tool = createSkillTool({ skills: shelf("Ship $ARGUMENTS now.") });
    expect(textOfOutput(await callTool(tool, { skill: "deploy", args: " web " }))).toMatch(/Ship web now\.$/);
    expect(await callTool(tool, { skill: "x" })).toEqual({ content: 'There is no skill "x".', isError: true });
  });
});

describe("arguments", () => {
  it.each([
    ["A $ARGUMENTS B $ARGUMENTS.", "x y", "A x y B x y."],
    ["A $ARGUMENTS.", "", "A ."],
    ["A.\n", "x", "A.\n\nArguments: x"],
    ["A.\n", " ", "A.\n"],
    ["$ARGUMENTS_FILE $ARGUMENTS[0]", "x", "$ARGUMENTS_FILE $ARGUMENTS[0]\n\nArguments: x"],
  ])("are filled in: %j with %j", (body, args, expected) => {
    expect(fillArguments(body, args)).toBe(expected);
  });

  it("are inserted literally, whatever they contain", () => {
    const text = fc.oneof(fc.string(), fc.constantFrom("$&", "$1", "$$", "$ARGUMENTS", "`rm -rf`"));
    fc.assert(
      fc.property(text, (args) => {
        expect(fillArguments("<$ARGUMENTS>", args)).toBe(`<${args.trim()}>`);
      }),
    );
  });
});
