import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { needsModes } from "../../testing/needs.test-support.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { createUnprivilegedRipgrep } from "../ripgrep/unprivileged-ripgrep.test-support.ts";
import { createTestTexts } from "../shared/test-texts.test-support.ts";
import { testContext } from "../shared/tool-context.test-support.ts";
import { callTool, createToolPlace, type ToolPlace, textOfOutput } from "../shared/tool-place.test-support.ts";
import { createGrepTool, createTextGrepTool } from "./grep.ts";

let place: ToolPlace;
beforeEach(() => {
  place = createToolPlace();
  place.put("src/a.ts", "const foo = 1;\nconst bar = 2;\nfoo();\n");
  place.put("src/b.js", "Foo\r\nfoo\r\n");
  place.put("notes.md", "about foo\n");
});
afterEach(() => place.remove());

describe("Grep", () => {
  const grep = async (input: Record<string, string | number | boolean>, context = testContext()) => {
    const tool = createGrepTool({ workspace: place.workspace });
    return textOfOutput(await callTool(tool, { pattern: "foo", ...input }, context));
  };

  it("lists matching files by default", async () => {
    expect(await grep({})).toBe("notes.md\nsrc/a.ts\nsrc/b.js");
  });

  it("returns numbered lines below the name of their file", async () => {
    expect(await grep({ output_mode: "content" })).toBe(
      "notes.md\n1:about foo\n\nsrc/a.ts\n1:const foo = 1;\n3:foo();\n\nsrc/b.js\n2:foo",
    );
    expect(await grep({ output_mode: "content", path: "notes.md", "-n": false })).toBe("notes.md\nabout foo");
  });

  it("adds context", async () => {
    place.put("c.txt", "1\n2\nhit\n4\n5\n6\n7\nhit\n");
    expect(await grep({ pattern: "hit", output_mode: "content", "-C": 1 })).toBe(
      "c.txt\n2-2\n3:hit\n4-4\n--\n7-7\n8:hit",
    );
    expect(await grep({ pattern: "^4", output_mode: "content", "-A": 2, "-B": 1 })).toBe("c.txt\n3-hit\n4:4\n5-5\n6-6");
  });

  it("counts matching lines by file", async () => {
    expect(await grep({ output_mode: "count" })).toBe(
      "notes.md:1\nsrc/a.ts:2\nsrc/b.js:1\n4 matching lines in 3 files",
    );
  });

  it("narrows the search by path, glob, type and case", async () => {
    expect(await grep({ path: "src" })).toBe("src/a.ts\nsrc/b.js");
    expect(await grep({ glob: "*.ts" })).toBe("src/a.ts");
    expect(await grep({ glob: "src/**/*.{js,md}" })).toBe("src/b.js");
    expect(await grep({ glob: "!*.ts" })).toBe("notes.md\nsrc/b.js");
    expect(await grep({ type: "md" })).toBe("notes.md");
    expect(await grep({ path: join(place.root, "src/b.js"), "-i": true, output_mode: "count" })).toContain(
      "src/b.js:2",
    );
  });

  it("matches across lines only if requested", async () => {
    const pattern = "1;\\nconst";
    expect(await grep({ pattern, multiline: true, output_mode: "content" })).toBe(
      "src/a.ts\n1:const foo = 1;\n2:const bar = 2;",
    );
    expect(await grep({ pattern: "foo.*bar", multiline: false })).toBe("No matches found.");
  });

  it("leaves out ignored and binary files and .git, but not other hidden files", async () => {
    place.put(".gitignore", "build/\n*.log\n!keep.log\n");
    place.put("build/x.ts", "foo");
    place.put("deep/down/y.log", "foo");
    place.put("keep.log", "foo");
    place.put(".git/config", "foo");
    place.put(".env", "foo");
    place.put("image.bin", "foo\0foo\n");
    for (const glob of [undefined, "**/*", "*"])
      expect(await grep({ ...(glob && { glob }) })).toBe(".env\nkeep.log\nnotes.md\nsrc/a.ts\nsrc/b.js");
  });

  it("searches an ignored directory if it is the path", async () => {
    place.put(".gitignore", "build/\nnode_modules\n");
    place.put("build/x.ts", "foo");
    place.put("node_modules/left/y.js", "foo");
    expect(await grep({ path: "build" })).toBe("build/x.ts");
    expect(await grep({ path: "node_modules/left" })).toBe("node_modules/left/y.js");
  });

  it("never shows hidden files, in any mode", async () => {
    const context = () => testContext({ hidden: (path) => path.endsWith("/src/a.ts") });
    expect(await grep({}, context())).toBe("notes.md\nsrc/b.js");
    expect(await grep({ output_mode: "content" }, context())).not.toContain("a.ts");
    expect(await grep({ output_mode: "count" }, context())).toBe("notes.md:1\nsrc/b.js:1\n2 matching lines in 2 files");
    expect(await grep({ path: "src/a.ts", output_mode: "content" }, context())).toBe("No matches found.");
  });

  it("does not follow symlinks out of the directory", async () => {
    const outside = createToolPlace();
    outside.put("secret.txt", "foo");
    symlinkSync(outside.root, join(place.root, "link"));
    expect(await grep({})).toBe("notes.md\nsrc/a.ts\nsrc/b.js");
    const asked = testContext();
    expect(await grep({ path: "link" }, asked)).toContain("not allowed");
    expect(asked.asked).toEqual([{ kind: "search", path: outside.root }]);
    outside.remove();
  });

  it("limits its output for 100,000 hits, and says how many are not shown", async () => {
    place.put("many.txt", "hit\n".repeat(100_000));
    const text = await grep({ pattern: "hit", output_mode: "content", head_limit: 5 });
    expect(text).toBe(
      "many.txt\n1:hit\n2:hit\n3:hit\n4:hit\n5:hit\n[99,995 more lines not shown. Narrow the search or raise head_limit.]",
    );
  });

  it("stops searching at a limit", async () => {
    place.put("many.txt", "hit\n".repeat(300_000));
    expect(await grep({ pattern: "hit", output_mode: "content", head_limit: 1 })).toContain(
      "at least 199,999 more lines",
    );
  });

  it("cuts lines that are too long", async () => {
    place.put("long.txt", `needle ${"x".repeat(200_000)}\n`);
    const text = await grep({ pattern: "needle", output_mode: "content" });
    expect(text.length).toBeLessThan(600);
    expect(text).toContain("1:needle xxx");
  });

  it("separates the paths of files with unusual names", async () => {
    writeFileSync(join(place.root, "odd\nname.txt"), "strange\n");
    writeFileSync(join(place.root, "-dash.txt"), "strange\n");
    const context = testContext({ hidden: (path) => path.includes("odd") });
    expect(await grep({ pattern: "strange", output_mode: "content" }, context)).toBe("-dash.txt\n1:strange");
    expect(await grep({ pattern: "strange", path: "-dash.txt", output_mode: "count" })).toContain("-dash.txt:1");
  });

  it("accepts a pattern that looks like an option", async () => {
    place.put("options.txt", "--pre=evil\n");
    expect(await grep({ pattern: "--pre=evil" })).toBe("options.txt");
  });

  it("explains why it can't search", async () => {
    expect(await grep({ pattern: "foo(" })).toMatch(/unclosed/i);
    expect(await grep({ path: "gone" })).toContain("gone does not exist");
    expect(await grep({ type: "klingon" })).toContain('for example "*.klingon"');
  });

  it("stops when the call is cancelled", async () => {
    const signal = AbortSignal.abort();
    expect(await grep({}, testContext({ signal }))).toBe("No matches found.");
  });

  it("does not read ripgrep's configuration", async () => {
    const config = place.put("rgrc", "--glob=!*.md\n");
    const before = process.env["RIPGREP_CONFIG_PATH"];
    process.env["RIPGREP_CONFIG_PATH"] = config;
    const tool = createGrepTool({ workspace: createLocalWorkspace({ root: place.root, environment: process.env }) });
    const text = textOfOutput(await callTool(tool, { pattern: "about" }, testContext()));
    if (before === undefined) delete process.env["RIPGREP_CONFIG_PATH"];
    else process.env["RIPGREP_CONFIG_PATH"] = before;
    expect(text).toBe("notes.md");
  });

  describe("if files can't be read,", needsModes, () => {
    const note =
      "[Results are incomplete. Could not search: locked (Permission denied), src/b.js (Permission denied).]";
    const search = async (input: Record<string, string | number>, context = testContext()) => {
      const tool = createGrepTool({ workspace: place.workspace, ripgrep: createUnprivilegedRipgrep(place.root) });
      return textOfOutput(await callTool(tool, input, context));
    };
    beforeEach(() => {
      mkdirSync(join(place.root, ".git"));
      mkdirSync(join(place.root, "locked"));
      for (const name of [".git", "locked", "src/b.js"]) chmodSync(join(place.root, name), 0o000);
    });
    afterEach(() => {
      for (const name of [".git", "locked"]) chmodSync(join(place.root, name), 0o700);
    });

    it("returns its results and names the files that it could not read", async () => {
      expect(await search({ pattern: "about" })).toBe(`notes.md\n${note}`);
      expect(await search({ pattern: "nowhere" })).toBe(`No matches found.\n${note}`);
      expect(await search({ pattern: "foo", output_mode: "content", head_limit: 1 })).toBe(
        `notes.md\n1:about foo\n[2 more lines not shown. Narrow the search or raise head_limit.]\n${note}`,
      );
    });

    it("does not name hidden files", async () => {
      const context = testContext({ hidden: (path) => path.endsWith("b.js") });
      expect(await search({ pattern: "nowhere" }, context)).toBe(
        "No matches found.\n[Results are incomplete. Could not search: locked (Permission denied).]",
      );
    });

    it("still explains an invalid pattern", async () => {
      expect(await search({ pattern: "foo(" })).toContain("Escape literal characters");
    });

    it("ignores ignore files that it can't parse", async () => {
      place.put(".gitignore", "[z-a\n");
      expect(await search({ pattern: "about" })).toBe(`notes.md\n${note}`);
    });
  });

  it("explains how to escape special characters", async () => {
    const tool = createGrepTool({ workspace: place.workspace });
    const output = await callTool(tool, { pattern: "foo(" }, testContext());
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toContain("Escape literal characters");
    expect(textOfOutput(await callTool(tool, { pattern: "a\nb" }, testContext()))).toContain("`multiline`");
  });

  it("reports that ripgrep can't be started", async () => {
    const tool = createGrepTool({ workspace: place.workspace, ripgrep: join(place.root, "no-such-program") });
    expect(await callTool(tool, { pattern: "foo" }, testContext())).toMatchObject({ isError: true });
  });

  it("does not report a killed search as a search without matches", async () => {
    const ripgrep = place.put("killed", "#!/bin/sh\nkill -9 $$\n");
    chmodSync(ripgrep, 0o755);
    const output = await createGrepTool({ workspace: place.workspace, ripgrep }).run({ pattern: "x" }, testContext());
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toBe(
      "The search was terminated by SIGKILL before it finished. Search a smaller directory.",
    );
  });

  it("says what to do if ripgrep is missing", async () => {
    vi.stubEnv("RETINUE_RIPGREP", join(place.root, "no-such-program"));
    const output = await callTool(createGrepTool({ workspace: place.workspace }), { pattern: "foo" }, testContext());
    vi.unstubAllEnvs();
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toMatch(/^Can't search without ripgrep: .*no-such-program.* Correct or unset/);
  });
});

describe("Grep, given an address,", () => {
  const path = "retinue://result/r1";
  const grep = async (text: string | Uint8Array, input: Record<string, string | number | boolean> = {}) => {
    const texts = createTestTexts({ chunkBytes: 65_536 });
    texts.texts.set(path, text);
    const tool = createTextGrepTool({ texts, workspace: place.workspace });
    const output = await callTool(tool, { pattern: "foo", path, output_mode: "content", ...input });
    return textOfOutput(output);
  };
  const text = "1 foo\n2\n3 FOO\n4\r\n5 foo\n";

  it("searches the text, with the usual options", async () => {
    expect(await grep(text)).toBe(`${path}\n1:1 foo\n5:5 foo`);
    expect(await grep(text, { "-i": true, "-n": false })).toBe(`${path}\n1 foo\n3 FOO\n5 foo`);
    expect(await grep(text, { pattern: "FOO", "-B": 1, "-A": 1 })).toBe(`${path}\n2-2\n3:3 FOO\n4-4`);
    expect(await grep(text, { head_limit: 1 })).toContain("[1 more line not shown.");
    expect(await grep(text, { output_mode: "count" })).toBe(`${path}:2\n2 matching lines in 1 file`);
    expect(await grep(text, { output_mode: "files_with_matches", glob: "*.ts", type: "py" })).toBe(path);
    expect(await grep(text, { pattern: "foo\\n2", multiline: true })).toBe(`${path}\n1:1 foo\n2:2`);
    expect(await grep(text, { pattern: "bar" })).toBe("No matches found.");
    expect(await grep("", { pattern: "bar" })).toBe("No matches found.");
    expect(await grep(text, { pattern: "(" })).toContain("Escape literal characters");
  });

  it("searches command output as text, even if it contains bytes that are not text", async () => {
    const bytes = Buffer.concat([Buffer.from("a\0b foo\n"), Buffer.of(0xff, 0xfe), Buffer.from(" foo\n")]);
    expect(await grep(bytes, { output_mode: "count" })).toContain(":2");
  });

  it("takes linear time for any expression, and limits its output for long text", async () => {
    expect(await grep(`${"a".repeat(500_000)}!`, { pattern: "^(a+)+$" })).toBe("No matches found.");
    const many = await grep("foo\n".repeat(1_000_000), { head_limit: 10 });
    expect(many).toMatch(/^retinue.*\n1:foo\n.*10:foo\n\[at least .* not shown/s);
  });

  it("refuses to match across lines if the text is too large", async () => {
    const large = Buffer.alloc(70 * 1024 * 1024, "foo\n");
    expect(await grep(large, { pattern: "foo\\nbar", multiline: true })).toBe(
      "The text is larger than 64 MB. Search it without `multiline`.",
    );
    expect(await grep(large, { output_mode: "files_with_matches" })).toBe(path);
  });

  it.each(["retinue://result/nope", "retinue://output/../r1", "retinue://result/"])(
    "reports that there is no text at %s",
    async (odd) => {
      expect(await grep(text, { path: odd })).toMatch(/There is no saved result|is not a valid address/);
    },
  );

  it("reports that the text could not be read", async () => {
    const broken = async function* () {
      yield Buffer.from("foo\n");
      throw new Error("The disk is gone.");
    };
    const tool = createTextGrepTool({ texts: { read: async () => broken() }, workspace: place.workspace });
    const output = await callTool(tool, { pattern: "foo", path });
    expect(output).toMatchObject({ isError: true, content: "The text could not be read: The disk is gone." });
  });
});
