import { describe, expect, it } from "vitest";
import { performTask } from "../built-in/perform-task.ts";

const base = { say: "Hello.", trusted: true, steps: [{ text: "Hello." }] };

describe("project instructions", () => {
  it("are given to the agent with their imports, and problems are reported", async () => {
    const files = {
      "AGENTS.md": "Root rules.\n@docs/a.md\n@docs/missing.md\n",
      "docs/a.md": "More rules.\n@b.md\n",
      "docs/b.md": "Most rules.\n@a.md\n",
    };
    const { head, notices } = await performTask({ ...base, files });
    for (const words of ["Root rules.", "More rules.", "Most rules."]) expect(head.userContext).toContain(words);
    expect(notices).toEqual([
      expect.stringMatching(/AGENTS\.md:3: @docs\/missing\.md: There is no such file/),
      expect.stringMatching(/docs\/b\.md:2: @a\.md: It imports itself, directly or indirectly/),
    ]);
  });

  it.each([
    ["a directory", { "AGENTS.md/x.txt": "Rules." }, /AGENTS\.md:1: It can't be read/],
    ["no text", { "CLAUDE.md": "a\0b" }, /CLAUDE\.md:1: It is not a text file/],
  ])("are reported if they can't be read because they are %s", async (_, files, notice) => {
    const { head, notices } = await performTask({ ...base, files });
    expect(head.userContext).toBe("");
    expect(notices).toEqual([expect.stringMatching(notice)]);
  });
});
