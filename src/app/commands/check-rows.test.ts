import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type CheckedRow, checkRows } from "./check-rows.ts";

interface Row {
  readonly id: string;
  readonly family: string;
  readonly setup: Readonly<Record<string, unknown>>;
  readonly acceptable: readonly string[];
}

const live = new Set(["ssrf-dns", "hostile-body", "toctou"]);

function fixture(name: string): readonly string[] {
  return readFileSync(join(import.meta.dirname, "../../permissions/fixtures", name), "utf8")
    .trim()
    .split("\n");
}

async function answers(
  lines: readonly (string | object)[],
  root?: string,
  sandbox: "on" | "off" = "off",
): Promise<readonly CheckedRow[]> {
  const found: CheckedRow[] = [];
  const written = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  for await (const row of checkRows(written as unknown as AsyncIterable<string>, { root, sandbox })) found.push(row);
  return found;
}

function stage(): string {
  const root = mkdtempSync(join(tmpdir(), "retinue-rows-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

it("assumes a sandbox if requested", async () => {
  const row = { id: "a", setup: {}, input: { tool: "Bash", command: 'while read f; do cat "$f"; done < list' } };
  expect(await answers([row])).toMatchObject([{ decision: "ask", sandbox: "off" }]);
  expect(await answers([row], undefined, "on")).toMatchObject([{ decision: "allow", sandbox: "on" }]);
});

const ls = { tool: "Bash", command: "ls" };
it.each([
  ["no json", "no json", "is not valid JSON"],
  ["a text", '"ls"', "it is not a JSON object."],
  ["no input", { id: "a" }, "`input` must be an object with the name of the `tool`"],
  ["no tool", { input: { command: "ls" } }, "`input` must be an object with the name of the `tool`"],
  ["a setup that is no object", { setup: 5, input: ls }, "`setup` must be an object."],
  ["an unknown mode", { setup: { mode: "yolo" }, input: ls }, '`setup.mode` is "yolo". Use default,'],
  ["a misspelled list of rules", { setup: { denny: ["Bash"] }, input: ls }, "Did you mean `deny`?"],
  ["a rule instead of a list", { setup: { deny: "Bash" }, input: ls }, "`setup.deny` must be a list of rules"],
  ["a rule that is no text", { setup: { deny: [5] }, input: ls }, "`setup.deny` must be a list of rules"],
  ["files that are no texts", { setup: { fs: { "/w/a": 5 } }, input: ls }, "`setup.fs` must map paths to texts."],
  ["a preset that is no text", { preset: 5, input: ls }, "`preset` must be a string."],
  ["an id that is an object", { id: {}, input: ls }, "`id` must be a string or a number."],
  ["rules outside of the setup", { deny: ["Bash"], input: ls }, "`deny` must be in `setup`."],
  ["a mode outside of the setup", { mode: "plan", input: ls }, "`mode` must be in `setup`."],
  ["a misspelled setup", { setpu: { deny: ["Bash"] }, input: ls }, "`setpu` is unknown. Did you mean `setup`?"],
  ["rules as in settings", { setup: { permissions: { deny: ["Bash"] } }, input: ls }, "`setup.permissions` is unknown"],
  [
    "a rule that can't be read",
    { setup: { allow: ["Bash(ls"] }, input: ls },
    "`Bash(ls` in `setup.allow` is invalid: ",
  ],
  [
    "a rule for no tool",
    { setup: { deny: ["Bsh"] }, input: ls },
    '`Bsh` in `setup.deny` is invalid: there is no tool "Bsh"',
  ],
  [
    "a file that can't be made",
    { setup: { fs: { "/w/proj/a": "x", "/w/proj/a/b": "y" } }, input: ls },
    "it can't be used: ",
  ],
])("names the line and the problem of a row with %s", async (_, row, problem) => {
  const found = await answers([{ id: "first", input: ls }, "", row]);
  expect(found).toMatchObject([
    { id: "first", decision: "allow" },
    { decision: "error", rule: "invalid row" },
  ]);
  expect(found[1]?.reason).toContain("Line 3 is not a valid row: ");
  expect(found[1]?.reason).toContain(problem);
});

it("leaves no files behind if a row's files can't all be created", async () => {
  const root = stage();
  const fs = { "/w/proj/a": "x", "/w/proj/a/b": "y" };
  expect(await answers([{ setup: { fs }, input: ls }], root)).toMatchObject([{ decision: "error" }]);
  expect(existsSync(join(root, "proj/a"))).toBe(false);
});

it("reads a row after a byte order mark and before a carriage return", async () => {
  expect(await answers([`\ufeff${JSON.stringify({ input: ls })}\r`])).toMatchObject([{ decision: "allow" }]);
});

it("accepts rows without a setup or an id, and keys for other harnesses", async () => {
  const rows = [{ input: ls }, { id: 7, setup: { note: "x", cwd: "/w/proj" }, input: ls }];
  expect(await answers(rows)).toMatchObject([
    { id: null, decision: "allow" },
    { id: 7, decision: "allow" },
  ]);
});

it.each(["path-attacks.jsonl", "webfetch-attacks.jsonl"])("%s: no decision is too permissive", async (name) => {
  const lines = fixture(name);
  const rows = lines.map((line) => JSON.parse(line) as Row);
  const root = stage();
  const found = await answers(lines, root);
  expect(found.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  const wrong = rows.flatMap(({ id, family, setup, acceptable }, index) => {
    if (live.has(family) || "worktree" in setup || "scenario" in setup) return [];
    const { decision = "", reason = "" } = found[index] ?? {};
    return acceptable.includes(decision) ? [] : [{ id, decision, acceptable, reason }];
  });
  expect(wrong).toEqual([]);
  expect(existsSync(join(root, "proj/link"))).toBe(false);
});

it("creates the files that a row describes, and removes them again", async () => {
  const root = stage();
  mkdirSync(join(root, "proj"), { recursive: true });
  const row = (id: string, fs: object, file_path: string) => ({
    id,
    setup: { mode: "default", fs },
    input: { tool: "Read", file_path },
  });
  const found = await answers(
    [
      row("link", { "/w/proj/l": "-> /etc/hosts" }, "/w/proj/l"),
      row("plain", { "/w/proj/deep/er/l": "text" }, "/w/proj/deep/er/l"),
      row("pipe", { "/w/proj/p": "fifo" }, "/w/proj/p"),
      row("socket", { "/w/proj/s": "socket" }, "/w/proj/s"),
      row("outside", { "/etc/made-by-a-row": "x" }, "/etc/made-by-a-row"),
    ],
    root,
  );
  expect(found.map(({ id, decision }) => `${id} ${decision}`)).toEqual([
    "link ask",
    "plain allow",
    "pipe ask",
    "socket ask",
    "outside ask",
  ]);
  for (const name of ["l", "deep", "p", "s"])
    expect(lstatSync(join(root, "proj", name), { throwIfNoEntry: false })).toBe(undefined);
  expect(existsSync("/etc/made-by-a-row")).toBe(false);
});

it("reports whether an allowed search finds a denied file", async () => {
  const fs = { "/w/proj/.env": "KEY=1", "/w/proj/src/a.ts": "KEY" };
  const input = { tool: "Grep", pattern: "KEY", path: "/w/proj", output_mode: "content" };
  const [hidden, open] = await answers([
    { id: "1", setup: { deny: ["Read(./.env)"], fs }, input },
    { id: "2", setup: { fs }, input },
  ]);
  expect(hidden?.decision).toBe("allow-but-no-match");
  expect(open?.decision).toBe("allow");
});

it("returns an error for unusable rows, and continues", async () => {
  const good = { id: "3", setup: {}, input: { tool: "Bash", command: "make" } };
  const found = await answers(["{", { id: "2", setup: { mode: "lax" }, input: { tool: "Bash" } }, good]);
  expect(found.map(({ decision }) => decision)).toEqual(["error", "error", "ask"]);
});

it("detects hooks that git would run", async () => {
  const root = stage();
  const hook = join(root, "proj/.git/hooks/pre-commit");
  mkdirSync(dirname(hook), { recursive: true });
  const setup = { allow: ["Bash(git commit:*)"] };
  const row = { id: "1", setup, input: { tool: "Bash", command: "git commit --allow-empty -qm x" } };
  expect(await answers([row], root)).toMatchObject([{ decision: "allow" }]);
  writeFileSync(hook, "#!/bin/sh\n", { mode: 0o755 });
  expect(await answers([row], root)).toMatchObject([{ decision: "ask", rule: "changed hook" }]);
});

it("creates the programs that a row's preset describes", async () => {
  const setup = { allow: ["Bash(git commit:*)"] };
  const row = { id: "1", setup, input: { tool: "Bash", command: "git commit --allow-empty -qm x" } };
  const preset = "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
  const found = await answers([row, { ...row, preset }, row], stage());
  expect(found.map(({ decision }) => decision)).toEqual(["allow", "ask", "allow"]);
});
