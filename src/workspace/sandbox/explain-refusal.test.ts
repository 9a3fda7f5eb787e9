import { describe, expect, it } from "vitest";
import { explainRefusal, explainTemporary, type RefusalFacts } from "./explain-refusal.ts";

const facts: RefusalFacts = {
  root: "/w/proj",
  scratch: "/s",
  userHome: "/home/u",
  mounts: [
    { path: "/w/proj", kind: "writable" },
    { path: "/home/u/.ssh", kind: "hidden" },
    { path: "/w/proj/.git", kind: "writable" },
    { path: "/w/proj/.envrc", kind: "readOnly" },
    { path: "/w/proj/.git/hooks", kind: "readOnly" },
  ],
  domains: [],
  command: "make",
};

describe("a refused write", () => {
  it.each([
    ["touch: cannot touch '/etc/x': Read-only file system", "/etc/x is outside"],
    ["bash: line 1: /etc/x: Read-only file system", "/etc/x is outside"],
    ["Error: EROFS: read-only file system, open '/home/u/.cache/go'", "/home/u/.cache/go is outside"],
    ["OSError: [Errno 30] Read-only file system: '/opt/a b'", "/opt/a b is outside"],
    ["mkdir: cannot create directory ‘../x’: Read-only file system", "/w/x is outside"],
    ["a program: Read-only file system", "this path is outside"],
    ["bash: line 1: .git/hooks/pre-commit: Read-only file system", "/w/proj/.git/hooks is read-only for commands"],
    ["mv: cannot move 'c' to '.envrc': Device or resource busy", "/w/proj/.envrc is read-only for commands"],
    ["mv: cannot move '.git' to 'g': Device or resource busy", "can't move or remove /w/proj/.git"],
  ])("is explained: %s", (output, said) => {
    expect(explainRefusal(`before\n${output}\nafter`, facts)).toContain(said);
  });

  it("is not explained if the resource may be busy for other reasons", () => {
    expect(explainRefusal("umount: /mnt: Device or resource busy", facts)).toBeUndefined();
  });
});

describe("a missing network", () => {
  it("is recognized by error messages, or by the command if it needs a network", () => {
    for (const output of ["curl: (6) Could not resolve host: a.b", "npm error code EAI_AGAIN"])
      expect(explainRefusal(output, facts)).toContain("no network");
    expect(explainRefusal("", { ...facts, command: "cd x && curl -s https://a.b" })).toContain("no network");
    expect(explainRefusal("", { ...facts, command: "git push", domains: ["a.b"] })).toContain("only a.b");
    expect(explainRefusal("2 tests failed", facts)).toBeUndefined();
  });
});

it("distinguishes a sandbox that could not be set up from a command that failed", () => {
  const output = "bwrap: Can't create file at /x/socket: Read-only file system";
  expect(explainRefusal(output, facts)).toContain("the command was not run");
});

it("names hidden paths", () => {
  expect(explainRefusal("cat: /home/u/.ssh/id: No such file or directory", facts)).toContain("/home/u/.ssh is hidden");
});

it("explains where other tools find files written to /tmp", () => {
  expect(explainTemporary({ ...facts, command: "make > /tmp/log" })).toContain("in commands, /tmp refers to /s");
  for (const command of ["make", "ls ./tmp/x", "cat /var/tmp/x"])
    expect(explainTemporary({ ...facts, command })).toBeUndefined();
  const mounts = [
    { path: "/tmp", kind: "private" },
    { path: "/tmp/repo", kind: "readOnly" },
    { path: "/tmp/repo/p", kind: "writable" },
  ] as const;
  const below = { ...facts, root: "/tmp/repo/p", mounts };
  expect(explainTemporary({ ...below, command: "cat /tmp/repo/x > /tmp/repo/p/x" })).toBeUndefined();
  expect(explainTemporary({ ...below, command: "cat /tmp/repo/x > /tmp/x" })).toContain("/tmp refers to /s");
});
