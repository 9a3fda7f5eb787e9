import { describe, expect, it } from "vitest";
import { isReadOnlyCommand } from "./read-only-command.ts";
import { simpleWords } from "./shell-words.ts";

const readOnly = (command: string) => {
  const words = simpleWords(command);
  return words !== undefined && isReadOnlyCommand(words);
};

describe("read-only commands", () => {
  it.each([
    "git log",
    "git log --oneline -n 20",
    "git log -5 --stat -- src/a.ts",
    "git --no-pager log --max-count=3 --date=short",
    "git log --format='%h %an %s' HEAD~3",
    'git log --pretty=format:"%h %ad %s" --date=iso --since="2 weeks ago"',
    "git log main..feature --no-merges",
    "git show --stat",
    "git show --stat HEAD~1",
    "git show --name-only --oneline HEAD",
    "git status",
    "git status --short --branch",
    "git status --porcelain=v2",
    "git ls-files",
    "git ls-files -co --exclude-standard src",
    "  git   status  ",
  ])("%s", (command) => expect(readOnly(command)).toBe(true));

  it.each([
    "git",
    "git show",
    "git show HEAD",
    "git show --stat HEAD:secret",
    "git show --stat -p",
    "git log -p",
    "git log --patch",
    "git log -L1,5:a.ts",
    "git log -S foo",
    "git log --output=x",
    "git log --outp=x",
    "git log --ext-diff",
    "git log --textconv",
    "git log --show-signature",
    "git log --format=%G?",
    "git log --format=%+G?",
    "git log --format='%h %-GK'",
    "git log --format=mine",
    "git log -n",
    "git log -n x",
    "git log -- :(top)x",
    "git log -- :/x",
    "git -c core.pager=x log",
    "git -C /other status",
    "git --git-dir=x status",
    "git --no-pager --git-dir=x log",
    "git -p log",
    "git log $(touch x)",
    "git log > x",
    "git log | cat",
    "git log; ls",
    "git log\nls",
    "X=1 git log",
    "git diff",
    "git branch -D main",
    "git status --no-optional-locks",
    "/usr/bin/git log",
    "GIT log",
    "ls",
  ])("not %s", (command) => expect(readOnly(command)).toBe(false));
});
