import { linkSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PermissionMode } from "../protocol/index.ts";
import { allow, bash, createRealProject, deny, type RealCall, type RealProject } from "./real-calls.test-support.ts";

const KEY = "sk-hush";
const KEPT = `{"kept": "${KEY}"}\n`;

let project: RealProject;
beforeEach(() => {
  project = createRealProject();
  for (const path of [".env", "secret.txt", "src/a.ts", "package.json", "sub/.env"]) project.put(path, KEPT);
  project.put("plain.txt", "plain\n");
  project.put("in/evil", "evil\n");
  project.put("../home/.profile", KEPT);
  mkdirSync(at("out"));
});
afterEach(() => project.remove());

const at = (path: string) => join(project.root, path);

const readers: readonly RealCall[] = [
  ["Read", { file_path: "notes" }],
  ["Grep", { pattern: "kept", path: "notes", output_mode: "content" }],
  ["Grep", { pattern: "kept", output_mode: "content" }],
  ["Grep", { pattern: "kept", output_mode: "files_with_matches" }],
  ["Grep", { pattern: "kept", output_mode: "count", path: "." }],
  ["Grep", { pattern: "kept", output_mode: "content", glob: "no*" }],
  ...["cat notes", "cat < notes", "cat no*", "grep -r kept .", "grep kept *", "rg kept", "head -3 ./notes"].map(bash),
  ...["diff notes plain.txt", "for f in *; do cat $f; done", "wc -l plain.txt notes"].map(bash),
];

describe("a file that must not be read is not read under another name", () => {
  const cases = [
    { file: ".env", rules: [] },
    { file: "sub/.env", rules: [allow("Read"), allow("Bash(cat:*)"), allow("Bash(grep:*)")] },
    { file: "secret.txt", rules: [deny("Read(secret.txt)")] },
    { file: "src/a.ts", rules: [deny("Read(src/**)"), allow("Read(notes)"), allow("Bash(cat:*)")] },
    { file: "../home/.profile", rules: [deny("Read(~/.profile)")] },
  ];
  it.each(cases)("$file", async ({ file, rules }) => {
    linkSync(at(file), at("notes"));
    for (const path of [".env", "secret.txt", "src/a.ts", "package.json", "sub/.env"])
      if (path !== file) rmSync(at(path));
    for (const mode of ["default", "bypassPermissions"] as const) {
      const found = await project.run(readers, { rules, mode });
      for (const [index, { text, outcome }] of found.entries()) {
        const shown = text.includes(KEY) || /^\.?\/?notes|: *[1-9]\d* matching/m.test(text);
        expect(outcome === "ok" && shown, `${JSON.stringify(readers[index])}: ${text}`).toBe(false);
      }
    }
  });

  it("a file with several harmless names is read like any other", async () => {
    linkSync(at("plain.txt"), at("notes"));
    const [read, grep, command] = await project.run(
      [["Read", { file_path: "notes" }], ["Grep", { pattern: "plain", output_mode: "count" }], bash("cat notes")],
      { rules: [deny("Read(secret.txt)")] },
    );
    expect(read).toMatchObject({ outcome: "ok", text: expect.stringContaining("plain") });
    expect(grep).toMatchObject({ outcome: "ok", text: expect.stringContaining("in 2 files") });
    expect(command).toMatchObject({ outcome: "ok", text: expect.stringContaining("plain") });
  });
});

/** Commands that write the file NAME, which has another name that must not be written. */
const writers = [
  ...[
    "cp in/evil NAME",
    "cp -f in/evil ./NAME",
    "cp -t . in/NAME",
    "cp in/NAME .",
    "cp in/NAME out/..",
    "cp -r in/NAME .",
    "cp -a in/NA* ./",
  ],
  ...["cp plain.txt in/NAME .", "cp --target-directory=. in/NAME", "tee NAME < in/evil", "cat in/evil | tee -a NAME"],
  ...["dd if=in/evil of=NAME", "truncate -s 0 NAME", "sort -o NAME in/evil", "shuf -o NAME in/evil", "split -b 9 NAME"],
  ...[
    "install in/evil NAME",
    "sed -i s/kept/lost/ NAME",
    "cp in/evil NA*",
    "cp in/NA* .",
    "for f in NAME; do cp in/$f .; done",
    "for f in NAME; do cp in/evil $f; done",
  ],
  ...[
    "cd in && cp evil ../NAME",
    "tee -- NAME",
    "echo x > NAME",
    "echo x >> NAME",
    "shred NAME",
    "env cp in/evil NAME",
  ],
];

describe("a file that must not be written is not written under another name", () => {
  const wide = [...new Set(writers.map((line) => line.split(" ")[0]!)), "echo"].map((name) => allow(`Bash(${name}:*)`));

  it("whatever rules and modes allow", async () => {
    const rulesFor = { wide, all: [allow("Bash"), allow("Edit")] };
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          line: fc.constantFrom(...writers),
          name: fc.constantFrom("NAME", "name.txt"),
          rules: fc.constantFrom<readonly (keyof typeof rulesFor)[]>(["wide"], ["all"], ["wide", "all"]),
          file: fc.constantFrom("package.json", ".env", "src/a.ts", "../home/.profile"),
          mode: fc.constantFrom<PermissionMode>("default", "acceptEdits", "bypassPermissions"),
        }),
        async ({ line, name, rules, file, mode }) => {
          rmSync(at(name), { force: true });
          project.put(file, KEPT);
          project.put(`in/${name}`, "evil\n");
          linkSync(at(file), at(name));
          const command = line.replaceAll("NAME", name);
          const denied = [deny("Edit(src/**)"), ...rules.flatMap((each) => rulesFor[each])];
          const [found] = await project.run([bash(command)], { rules: denied, mode });
          const now = readFileSync(at(file), "utf8");
          expect(now, `${command} ${file} ${mode} ${rules}: ${found?.outcome} ${found?.text}`).toBe(KEPT);
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);
});
