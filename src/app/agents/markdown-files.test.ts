import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkAgents } from "../commands/check-agents.ts";
import { markdownFiles } from "./markdown-files.ts";

let place = "";

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "retinue-markdown-"));
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

const told = (given: string) => [...markdownFiles(given)].map(({ file }) => file);

async function check(given: string) {
  const checked = [];
  for await (const each of checkAgents([given])) checked.push(each);
  return checked;
}

describe("markdownFiles", () => {
  it("names what is Markdown in a stable order, without other people's files", async () => {
    for (const folder of ["b", "node_modules", ".git", "c.md"]) mkdirSync(join(place, folder));
    for (const file of ["z.md", "a.MARKDOWN", "b/x.md", "node_modules/n.md", ".git/g.md", "c.md/y.md", "t.txt"])
      writeFileSync(join(place, file), "text");
    symlinkSync("z.md", join(place, "link.md"));
    symlinkSync("b", join(place, "linked"));
    symlinkSync("gone.md", join(place, "dangling.md"));
    symlinkSync("loop.md", join(place, "loop.md"));
    symlinkSync(process.execPath, join(place, "outside.md"));
    symlinkSync("..", join(place, "b/up"));
    symlinkSync(tmpdir(), join(place, "b/away"));
    execFileSync("mkfifo", [join(place, "pipe.md")]);
    const own = ["a.MARKDOWN", "b/x.md", "c.md/y.md"];
    const others = ["dangling.md", "link.md", "linked/x.md", "loop.md", "outside.md", "pipe.md", "z.md"];
    expect(told(place)).toEqual([...own, ...others]);
    const codes = (await check(place)).map(({ file, diagnostics }) => [file, diagnostics.map(({ code }) => code)]);
    expect(Object.fromEntries(codes)).toMatchObject({
      "dangling.md": ["link_broken"],
      "link.md": ["no_frontmatter"],
      "linked/x.md": ["no_frontmatter"],
      "loop.md": ["link_broken"],
      "outside.md": ["link_outside"],
      "pipe.md": ["unreadable"],
    });
  });

  it("names a directory that can't be listed, and goes on", async () => {
    const nested = (count: number) => Array.from({ length: count }, () => "d".repeat(240)).join("/");
    const [root, lower] = [join(place, "root"), join(place, "lower")];
    mkdirSync(join(root, nested(9)), { recursive: true });
    mkdirSync(join(lower, nested(9)), { recursive: true });
    writeFileSync(join(root, "z.md"), "---\nname: z\ndescription: Does z.\n---\n");
    // No path that names all of it would be short enough to open, so one half is moved below the other.
    renameSync(lower, join(root, nested(9), "lower"));
    const checked = await check(root);
    renameSync(join(root, nested(9), "lower"), lower);
    expect(checked.map(({ loaded, failed }) => [loaded, failed])).toEqual([
      [false, true],
      [true, false],
    ]);
    expect(checked[0]?.file.startsWith(`${nested(9)}/lower/`)).toBe(true);
    expect(checked[0]?.diagnostics).toMatchObject([{ severity: "error", line: 1, code: "unreadable" }]);
  });

  it("tells of every skill that does not load", async () => {
    for (const folder of ["a", "b/SKILL.md"]) mkdirSync(join(place, folder), { recursive: true });
    writeFileSync(join(place, "a/SKILL.md"), "No frontmatter.\n");
    const checked = (await check(place)).map(({ file, kind, failed, diagnostics }) => [
      [file, kind, failed],
      diagnostics.map(({ code }) => code),
    ]);
    expect(checked).toEqual([
      [["a/SKILL.md", "skill", true], ["no_frontmatter"]],
      [["b/SKILL.md", "skill", true], ["unreadable"]],
    ]);
  });

  it("refuses what was named and is not there, with the cure", () => {
    symlinkSync("round.md", join(place, "round.md"));
    expect(() => told(join(place, "none.md"))).toThrow(/does not exist/);
    expect(() => told(join(place, "round.md"))).toThrow(/can't be read/);
  });
});
