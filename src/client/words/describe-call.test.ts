import { describe, expect, it } from "vitest";
import { describeCall } from "./describe-call.ts";

describe("the description of a call", () => {
  it.each([
    [{ file_path: "src/a.ts", offset: 3 }, "src/a.ts"],
    [{ command: "npm test", description: "runs the tests" }, "npm test"],
    [{ pattern: "^export", path: "src" }, "^export in src"],
    [{ pattern: "^", path: "src", glob: "*.ts" }, "every line in src/*.ts"],
    [{ pattern: "TODO", path: "src", glob: "!**/{node_modules,dist}/**" }, "TODO in src"],
    [{ pattern: "TODO", glob: "*.md" }, "TODO in *.md"],
    [{ pattern: "TODO", path: "." }, "TODO"],
    [{ path: "src" }, "src"],
    [{ command: "a\n\u001b[2Jb" }, "a↵\\u{1b}[2Jb"],
    [{ command: "echo \u202etxt", description: "x" }, "echo \\u{202e}txt"],
    [{ file_path: "p\u0430ypal.ts" }, "p\\u{430}ypal.ts"],
    [{ description: "a\n“b”" }, "a “b”"],
    [{ url: "https://me:secret@example.com/a?page=2" }, "https://…@example.com/a?page=2"],
    [{ url: "http://me:sec ret@example.com/" }, "http://…@example.com/"],
    [{ command: "git clone https://token@example.com/x.git" }, "git clone https://…@example.com/x.git"],
    [{ query: "postgres://me:secret@db/x slow" }, "postgres://…@db/x slow"],
    [{ other: 1 }, ""],
  ])("for %j is %j", (input, expected) => {
    expect(describeCall({ name: "mcp__x__y", inputJson: JSON.stringify(input) })).toBe(expected);
  });

  it("uses the inputs of its tool, and ignores others, which have no effect", () => {
    const input = { file_path: "README.md", questions: [{ question: "npm test" }], command: "rm -rf ~/important" };
    expect(describeCall({ name: "Bash", inputJson: JSON.stringify(input) })).toBe("rm -rf ~/important");
  });

  it("names paths relative to the agent's directory, unless they lead out of it", () => {
    const described = (file_path: string) =>
      describeCall({ name: "Read", inputJson: JSON.stringify({ file_path }) }, "/work/shop");
    expect(described("/work/shop/src/a.ts")).toBe("src/a.ts");
    expect(described("/work/shop")).toBe(".");
    for (const path of ["/work/shopping/a.ts", "/work/shop/../x", "src/a.ts"]) expect(described(path)).toBe(path);
    const command = JSON.stringify({ command: "cat /work/shop/a.ts" });
    expect(describeCall({ name: "Bash", inputJson: command }, "/work/shop")).toBe("cat /work/shop/a.ts");
    const search = JSON.stringify({ pattern: "x", path: "/work/shop", glob: "*.ts" });
    expect(describeCall({ name: "Grep", inputJson: search }, "/work/shop")).toBe("x in *.ts");
  });

  it("is empty for a value that is not an object", () => {
    expect(["{", "null", "3"].map((inputJson) => describeCall({ name: "Read", inputJson }))).toEqual(["", "", ""]);
  });
});
