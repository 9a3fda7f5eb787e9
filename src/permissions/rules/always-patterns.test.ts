import { describe, expect, it } from "vitest";
import { analyzeCommand } from "../shell/analyze-command.ts";
import { unitsOf } from "../shell/shell-analysis.ts";
import { alwaysPatterns } from "./always-patterns.ts";
import { allowsUnit, parseCommandPattern } from "./command-pattern.ts";

const allows = (rule: string, command: string) =>
  unitsOf(analyzeCommand(command)).every((unit) =>
    allowsUnit(parseCommandPattern(rule), unit, { roots: ["/w"], loopWords: new Map() }),
  );

describe("alwaysPatterns", () => {
  it.each([
    ["git push origin main", "git push *"],
    ["npm test", "npm test *"],
    ["npm run build -- --watch", "npm run build *"],
    ["cargo build --release", "cargo build *"],
    ["docker compose up -d", "docker compose up *"],
    ["pytest -q tests", "pytest *"],
    ["git add -A && git status", "git add *"],
    ["npm test 2>&1 | tail -20", "npm test *"],
    ["npm test > /dev/null", "npm test *"],
  ])("%s can be allowed as %s", (command, pattern) => expect(alwaysPatterns(command)).toMatchObject({ pattern }));

  it.each([
    "rm build/a",
    "sudo apt install x",
    "python3 x.py",
    "node x.js",
    "npx tsc",
    "git push --force",
    "git push -f origin",
    "git reset --hard",
    "git tag --force v1",
    "git tag -f v1",
    "git branch -D x",
    "git commit --amend",
    "git maintenance register",
    "git update-ref refs/heads/x HEAD",
    "npm pkg set a=b",
    "npm set a b",
    "npm config set a b --location=project",
    "helm upgrade --force x",
    "git -C x push",
    "bash x.sh",
    "curl https://example.com",
    "docker run x",
    "npm exec x",
    "touch a && mkdir b",
    "timeout 5 make",
    "f() { a; }; f",
    "$x a",
    "echo $((x))",
    "./x.sh",
    "echo x > out.txt",
    "npm test > out.txt",
    "npm test >> out.txt 2>&1",
    "echo x | bash",
    "bash << E\nx\nE",
    "python3 - < x.py",
    "cat x | xargs rm",
  ])("%s can only be allowed literally", (command) => expect(alwaysPatterns(command)).toEqual({ exact: command }));

  it.each([
    ["git tag v1", "git tag --force v1"],
    ["git branch x", "git branch -D x"],
    ["git commit -m x", "git commit --amend -m x"],
    ["git push origin main", "git push --force origin main"],
    ["git stash push", "git stash drop"],
    ["git checkout main", "git checkout --force main"],
    ["npm install x", "npm install --script-shell=./x"],
    ["helm upgrade x", "helm upgrade --force x"],
    ["cargo publish", "cargo publish --no-verify"],
  ])("the pattern for %s does not cover %s", (asked, other) => {
    const { pattern } = alwaysPatterns(asked);
    expect(pattern === undefined ? false : allows(pattern, other)).toBe(false);
  });

  it("keeps literal stars", () => {
    const { exact } = alwaysPatterns("rm *");
    expect(parseCommandPattern(exact)).toMatchObject({ line: "rm *", rest: false });
    expect(parseCommandPattern(alwaysPatterns("find . -name \\*.ts").exact).line).toBe("find . -name \\*.ts");
  });
});

describe("wildcards in rules", () => {
  it.each([
    ["git * main", "git push origin main"],
    ["git * main", "git checkout main"],
    ["npm run test:*", "npm run test -- --watch=false"],
    ["npm run test*", "npm run test-all"],
    ["npm * --silent", "npm run a b --silent"],
    ["xargs wc:*", "xargs wc -l"],
    ["sudo apt update", "sudo apt update"],
    ["cat /w/*", "cat /w/a"],
    ["rm \\*.txt", "rm '*.txt'"],
    ["git push *", "git push -u origin feature"],
    ["git push *", "git push --tags"],
    ["git push --force *", "git push --force origin"],
  ])("%s allows %s", (rule, command) => expect(allows(rule, command)).toBe(true));

  it.each([
    ["git * main", "git push origin mainline"],
    ["git * main", "git -c a=b push main"],
    ["npm run test*", "npm run build"],
    ["xargs:*", "xargs touch"],
    ["sudo:*", "sudo ls"],
    ["rm \\*.txt", "rm a.txt"],
    ["rm:*", 'rm "$x"'],
    ["tar:*", "tar cf x *"],
    ["npm test:*", "PATH=. bash -c 'npm test'"],
    ["npm test:*", "X=1 timeout 5 npm test"],
    ["npm test:*", "env X=1 nice npm test"],
    ["git push *", "git push --force"],
    ["git push *", "git push -uf origin main"],
    ["git push *", "git push --forc origin"],
    ["git push *", "git push --force-with-lease"],
    ["git push *", "git push origin +main"],
    ["git push *", "git push origin :main"],
    ["git push *", "git push -d origin main"],
    ["git push *", "git push --mirror"],
    ["git push *", "git push $x"],
    ["git * main", "git push -f origin main"],
  ])("%s does not allow %s", (rule, command) => expect(allows(rule, command)).toBe(false));
});
