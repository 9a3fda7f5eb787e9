import { expect, it } from "vitest";
import { accesses, readsOnly } from "./accesses.ts";

const proves = (toolName: string, input: Record<string, string>): boolean => readsOnly(accesses(toolName, input));

it.each([
  "git status --short",
  "cat notes.txt | sort | uniq -c",
  "cat /etc/hosts",
  "grep -rn TODO src > /dev/null 2>&1",
  "sleep 5; cat log",
  "find . -name '*.ts' -newer a",
  "for name in a b; do wc -l $name; done",
])("a call to `%s` is proven to change nothing", (command) => {
  expect(proves("Bash", { command })).toBe(true);
});

it.each([
  "npm test",
  "sed -i s/a/b/ notes.txt",
  "cat a > b",
  'cat a >> "$target"',
  "git status; git commit -m x",
  "cat $(touch a)",
  "find . -delete",
  "ls | xargs rm",
  "timeout 5 cat a",
  "awk 1 a",
  "PAGER=./run git log",
  "cd sub && git status",
  "if (",
  "",
])("a call to `%s` is not proven to change nothing", (command) => {
  expect(proves("Bash", { command })).toBe(false);
});

it("only tools that read files are proven to change nothing", () => {
  expect(proves("Read", { file_path: "a" })).toBe(true);
  expect(proves("Grep", { pattern: "a" })).toBe(true);
  for (const [name, input] of [
    ["Write", { file_path: "a" }],
    ["WebFetch", { url: "https://example.org" }],
    ["KillShell", { shell_id: "a" }],
    ["Task", { prompt: "a" }],
    ["mcp__page__read", {}],
  ] as const)
    expect([name, proves(name, input)]).toEqual([name, false]);
});
