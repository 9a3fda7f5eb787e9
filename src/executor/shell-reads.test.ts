import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Effect, Policy, Rule } from "../protocol/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { judgeCall, type Place } from "./judge-call.ts";

let base = "";
let place: Place;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "shell-reads-")));
  const home = join(base, "home");
  const root = join(base, "w");
  for (const path of [
    "home/.ssh",
    "out",
    "w/sub/deep",
    "w/two words",
    "w/loop",
    "w/pkg/x ",
    "w/links",
    "w/.git/hooks",
    "w/names",
  ])
    mkdirSync(join(base, path), { recursive: true });
  for (const path of [
    "home/notes",
    "home/.ssh/id",
    "out/secret",
    "w/a.ts",
    "w/b.ts",
    "w/.env",
    "w/list",
    "w/sub/c.ts",
    "w/package.json",
  ])
    writeFileSync(join(base, path), "x");
  writeFileSync(join(root, "sub/.env"), "x");
  symlinkSync(join(base, "out/secret"), join(root, "link"));
  symlinkSync(join(base, "out/secret"), join(root, "links/inner"));
  symlinkSync(join(base, "out"), join(root, "outside"));
  symlinkSync("b.ts", join(root, "inside"));
  linkSync(join(root, ".env"), join(root, "hard"));
  linkSync(join(root, "sub/.env"), join(root, "sub/hard"));
  linkSync(join(root, ".env"), join(root, "names/other"));
  linkSync(join(root, "a.ts"), join(root, "same"));
  place = { workspace: createLocalWorkspace({ root, environment: { HOME: home }, home }), homes: [home] };
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

async function judge(
  command: string,
  rules: readonly Rule[] = [],
  { sandboxed = false }: { readonly sandboxed?: boolean } = {},
): Promise<Effect> {
  const confinement = async () => ({ kind: sandboxed ? "on" : "off" }) as const;
  const workspace = { ...place.workspace, confinement };
  const policy: Policy = {
    mode: "default",
    pool: ["Bash", "Read"],
    rules,
    workspaceRoots: [place.workspace.root],
    readableRoots: [],
  };
  return (await judgeCall({ toolName: "Bash", input: { command }, policy }, { ...place, workspace })).decision.effect;
}

const deny = (text: string): Rule => ({ text, effect: "deny", scope: "user" });
const allow = (text: string): Rule => ({ text, effect: "allow", scope: "user" });

describe("reads that leave the workspace need approval", () => {
  it.each([
    "cat {/etc/passwd,x}",
    "cat {a.ts,/etc/{passwd,group}}",
    "cat {..,.}/out/secret",
    "cat ~/notes",
    "cat ~root/x",
    "cat li*",
    "cat lin[j-l]",
    "cat l[[:alpha:]]nk",
    "cat */inner",
    "cat li'nk'",
    "cat outside/*",
    "cat outside/../out/secret",
    "cat ./outside/../home/notes",
    "cd . && cat link",
    "cd . && cat ./li*",
    "cd sub && cat ../link",
    "cd sub; cat ../link",
    "(cd sub && cat ../link)",
    "cd sub/deep && cd .. && cat ../link",
    "cd outside && cat secret",
    "cd outside/.. && cat link",
    "cd sub || cat link",
    "{ cd sub; }; cat ../link",
    "if cd sub; then cat ../link; fi",
    'for f in l*; do cat "$f"; done',
    'for f in a.ts link; do cat "$f"; done',
    "for f in a.ts 'b.ts /etc/passwd'; do cat $f; done",
    'for f in nk; do cat "li$f"; done',
    "for d in pkg outside; do cat $d/*; done",
    'for d in sub; do cd "$d" && cat ../link; done',
    'for d in outside sub; do (cd "$d" && cat secret); done',
    'while read f; do cat "$f"; done < list',
    "cd - && cat a.ts",
    "cd $(pwd) && cat a.ts",
    "grep -R x .",
    "grep -R x",
    "grep --dereference-recursive x links",
    "cd links && grep -R x .",
    "find -L . -name '*.ts'",
    "find . -follow",
    "ls -LR .",
    "find . -exec cat {} +",
    "find . -name 'x*' | xargs cat",
    "cat $(echo link)",
    "wc -l < outside/../out/secret",
    "cat $'/etc/passwd'",
    "sh -c 'cat link'",
    "sh -c 'cat {a.ts,b.ts}'",
    "bash -c 'cd sub && cat ../link'",
    'cat a.ts "$(cd sub && cat ../link)"',
  ])("%s", async (command) => expect(await judge(command)).toBe("ask"));
});

describe("names that only a program's input shows need approval", () => {
  it.each([
    "find sub | xargs cat",
    "git ls-files --format=/etc/passwd | xargs cat",
    "grep -hel sub/c.ts | xargs cat",
    "rg -l x sub | xargs cat",
    "find sub | xargs cat < list",
    "cd sub && find . .. | xargs cat",
  ])("%s", async (command) => {
    expect(await judge(command)).toBe("ask");
    expect(await judge(command, [allow("Bash(cat:*)")])).toBe("ask");
    expect(await judge(command, [], { sandboxed: true })).toBe("allow");
  });
});

describe("names outside the workspace need approval", () => {
  it.each([
    "echo /root/.*",
    "echo ~/*",
    "echo ../*",
    "echo outside/*",
    "echo outsid?/*",
    "cd sub && echo ../../*",
    "printf '%s\\n' /root/.*",
    "expr /root/.* : x",
    'for f in /root/.*; do echo "$f"; done',
    'for f in outside/*; do printf "%s\\n" "$f"; done',
    "a=(/root/.*); echo a",
    "x='/root/*'; echo $x",
    "compgen -f /root/",
    "compgen -d ~/",
    "compgen -G '/root/*'",
    "compgen -G 'outside/*'",
  ])("%s", async (command) => expect(await judge(command)).toBe("ask"));

  it.each([
    "echo * sub/*",
    "echo '/root/*' \"/root/*\"",
    'for f in sub/*; do echo "$f"; done',
    "cd sub && echo ../*.ts",
    "x=a/b; echo $x",
  ])("%s needs no approval", async (command) => expect(await judge(command)).toBe("allow"));
});

describe("git commands that could print a denied file need approval", () => {
  const rules = [deny("Read(.env)")];
  it.each([
    "git grep x",
    "git grep -l x",
    "git grep -q x",
    "git grep -h . -- '.e*'",
    "git grep -e x sub",
    "git grep x HEAD:sub",
    "git cat-file -p HEAD:.e*",
    "git cat-file -p 1234abcd",
    "git cat-file --batch-all-objects --batch",
    "git log -p",
    "git log --patch-with-st -3",
    "git log -U1",
    "git log -L1,2:a.ts",
    "git log -p -- a.ts sub",
    "git log -p -- '*.ts'",
    "git log -p -- :!a.ts",
    "git log --check",
    "git show",
    "git show HEAD",
    "git show HEAD HEAD:a.ts",
    "git show --stat 1234abcd",
    "git diff --no-ext-diff",
    "git diff-tree -p HEAD",
    "git range-diff a b c",
    "git stash show -p",
    "git reflog -p",
    "git status -v",
    "git config --blob=HEAD:a.ts x.y",
    "timeout 5 git log -p",
    "git log -p a.ts --",
    "git show a.ts --",
    "git log -p --stdin -- a.ts",
    "echo a; git show | head",
  ])("%s", async (command) => {
    expect(await judge(command, rules)).toBe("ask");
    expect(await judge(command, [deny("Read(~/.ssh/**)"), allow("Bash")])).toBe("allow");
    expect(await judge(command, [...rules, allow("Bash")])).toBe("ask");
  });

  it.each([
    "git grep x -- a.ts sub/c.ts",
    "git cat-file -p HEAD:a.ts",
    "git cat-file -t HEAD",
    "git log --oneline --stat -- sub",
    "git log -p HEAD~2 -- a.ts",
    "cd . && git log -p a.ts",
    "git show HEAD:a.ts",
    "git show HEAD -- a.ts",
    "git show --stat HEAD",
    "git blame a.ts",
    "git diff --stat",
    "git status",
    "git stash list",
  ])("%s needs no approval in a sandbox", async (command) =>
    expect(await judge(command, rules, { sandboxed: true })).toBe("allow"),
  );

  it("including git archive, even if a rule allows it", async () => {
    expect(await judge("git archive HEAD", [...rules, allow("Bash(git archive:*)")])).toBe("ask");
    expect(await judge("git archive HEAD", [allow("Bash(git archive:*)")])).toBe("allow");
  });
});

describe("reads inside the workspace need no approval", () => {
  it.each([
    "cat {a,b}.ts",
    "cat {a.ts,sub/{c.ts,d.ts}}",
    "cat *.ts",
    "cat [ab].ts inside",
    "cat sub/*.ts */deep/none",
    "head -n {1,2} a.ts",
    "cat no*match",
    "cat 'li*'",
    "cat sub/../a.ts",
    "cd sub && cat c.ts",
    "cd sub && cat ../a.ts",
    "cd sub && ls",
    "(cd sub && cat c.ts); cat a.ts",
    "cd sub; cat c.ts",
    "cd sub/deep && cd .. && cat ../a.ts",
    'for f in *.ts; do cat "$f"; done',
    "for f in *.ts; do wc -l $f; done",
    "for f in {a,b}; do cat $f.ts; done",
    "grep -rn x .",
    "grep -R x sub",
    "find . -name '*.ts'",
    "cat a.ts /dev/null",
    "wc -l < sub/c.ts",
  ])("%s", async (command) => expect(await judge(command, [allow("Read(.env)")])).toBe("allow"));
});

describe("Read rules apply to the files that a command would actually read", () => {
  it.each([
    ["cat .env", "deny"],
    ["cat .en[[:alpha:]]", "deny"],
    ["cat .en?", "deny"],
    ["cat .e*", "deny"],
    ["cat {a.ts,.env}", "deny"],
    ["cat .{env,foo}", "deny"],
    ["cat .en{u..w}", "deny"],
    ["cat .''env", "deny"],
    ["cat $'.\\x65nv'", "deny"],
    ['cat $".env"', "deny"],
    ["cd sub && cat ../.e*", "deny"],
    ["cd sub && cat .env", "deny"],
    ["cat ./sub/../.env", "deny"],
    ['for f in .e*; do cat "$f"; done', "deny"],
    ["cat hard", "deny"],
    ["cat sub/hard", "deny"],
    ["cat ha*", "deny"],
    ["grep -r x .", "ask"],
    ["find . -name 'x*' -exec cat {} +", "ask"],
    ["grep -r x names", "ask"],
    ["find names -type f -exec cat {} +", "ask"],
    ["grep -r x links", "allow"],
    ["ls names", "allow"],
    ["cat same", "allow"],
    ["cat *.ts", "allow"],
    ["cat sub/c.ts", "allow"],
    ["grep -r x links", "allow"],
    ["ls -R sub", "allow"],
  ] as const)("%s", async (command, effect) => expect(await judge(command, [deny("Read(.env)")])).toBe(effect));

  it("including files in the home directory", async () => {
    const rules = [deny("Read(~/.ssh/**)"), allow("Read(~/**)")];
    expect(await judge("cat ~/.ssh/id", rules)).toBe("deny");
    expect(await judge("cat ~/.s*/*", rules)).toBe("deny");
    expect(await judge("cat {~/.ssh/id,a.ts}", rules)).toBe("deny");
    expect(await judge("cat ~/no*", rules)).toBe("allow");
  });
});

describe("text that the shell evaluates needs approval", () => {
  it.each([
    "a['x[$(touch y)]']=1",
    "a=([b]=1)",
    "[[ -v 'a[$(touch x)]' ]]",
    "[[ $x -eq 1 ]]",
    "echo $" + "{x@P}",
    "coproc cat a.ts",
    "exec -c git status",
    "env -i git status",
    "env -u GIT_CONFIG_COUNT git status",
    "GIT_OPTIONAL_LOCKS=1 git status",
    "GIT_CONFIG_COUNT=0 git log -3",
    "GIT_DIR=sub; git status",
    "IFS=/; cat a.ts",
    "x='x /etc/passwd'; grep $x a.ts",
    "grep l* a.ts",
    "diff <(cat link) a.ts",
    "shopt -s expand_aliases; cat a.ts",
  ])("%s", async (command) => expect(await judge(command)).toBe("ask"));

  it.each(["diff <(sort a.ts) <(sort b.ts)", "GIT_OPTIONAL_LOCKS=0 git status", "a=([0]=x y)"])(
    "%s needs no approval",
    async (command) => expect(await judge(command)).toBe("allow"),
  );
});

describe("file names", () => {
  it("need approval if the shell could read them as options or split them into words", async () => {
    writeFileSync(join(base, "w/sub/deep/-R"), "x");
    expect(await judge("cd sub/deep && grep x *")).toBe("ask");
    expect(await judge("cd sub/deep && grep x ./*")).toBe("allow");
    rmSync(join(base, "w/sub/deep/-R"));
    expect(await judge("cat pkg/x*/*")).toBe("allow");
    expect(await judge('for f in pkg/*; do ls "$f"; done')).toBe("allow");
    expect(await judge("for f in pkg/*; do ls $f; done")).toBe("ask");
    expect(await judge("find pkg | xargs cat")).toBe("ask");
  });
});

describe("rules for commands", () => {
  it("cover a path outside the workspace if they spell it out, but not a symlink to it", async () => {
    expect(await judge("cat /etc/hostname", [allow("Bash(cat /etc/hostname)")])).toBe("allow");
    expect(await judge("cat /etc/hostname", [allow("Bash(cat:*)")])).toBe("ask");
    expect(await judge("cat link", [allow("Bash(cat:*)")])).toBe("ask");
    expect(await judge("cat /etc/hostname; ls /etc", [allow("Bash(cat /etc/hostname)")])).toBe("ask");
    expect(await judge("cat link", [allow("Bash")])).toBe("allow");
  });
});

describe("wildcards in rules for commands that may change files", () => {
  const rules = ["cp", "mv", "touch", "tee", "dd", "sed", "tar", "npm", "git commit"].map((name) =>
    allow(`Bash(${name}:*)`),
  );

  it.each([
    "cp a.ts .gi?/hooks",
    "cp a.ts .gi[t]/hooks/",
    "cp a.ts package.jso[n]",
    "cp a.ts ./pack*.json",
    "cp a.ts .github/workflows/a+b.yml",
    "cp a.ts '.github/workflows/a,b:c.yml'",
    "mv a.ts .gi?/hooks",
    "sed -i s/a/b/ .gi?/hooks",
    "touch -m .git/hooks/x",
    "touch -m /etc/x",
    "dd if=a.ts of=.git/a+b",
    "cd .git/hooks && cp a.ts pre-commit",
    "cd .gi? && cp a.ts config",
    "cd -P .git/hooks && cp a.ts pre-commit",
    "for d in .git; do cp a.ts ./$d/hooks; done",
    "cp a.ts outside/x",
    "cp a.ts outside",
    "cp a.ts outsid?/secret",
    "cp link x",
    "cp ./lin? x",
    "mv a.ts $'outside/\\n'",
    "cd sub && cp c.ts /etc/x",
    "cd outside && cp secret x",
    "tee outside/x",
    "dd if=a.ts of=outside/x",
    "dd if=link of=x",
    "npm run build -- --out=outside/x",
    "npm run build -- -ooutside/x",
    "tar -cf outside/x.tar a.ts",
    "cp -rL links x",
    "for f in 'a.ts /etc/x'; do cp ./$f b; done",
  ])("do not cover %s", async (command) => expect(await judge(command, rules)).toBe("ask"));

  it.each([
    "cp a.ts x.ts",
    "cp ./*.ts sub",
    "cp a.ts inside",
    "cp -r sub x",
    "cp -r links x",
    "cd sub && cp c.ts d.ts",
    "mv a.ts sub/deep/",
    "npm run build -- --out=dist/x https://example.com/a",
    "npm test -- -u sub/c.ts",
    "git commit -m 'link .git/hooks: x'",
    "tar -czf x.tgz sub",
  ])("cover %s", async (command) => expect(await judge(command, rules)).toBe("allow"));

  it.each([
    ["cp -r . x", "ask"],
    ["cp -a ./su? x", "ask"],
    ["cd sub && cp -r . ../x", "ask"],
    ["tar -cf x.tar .", "ask"],
    ["tar cf x.tar sub", "ask"],
    ["cp hard x", "ask"],
    ["cp -r names x", "ask"],
    ["tar cf x.tar names", "ask"],
    ["cp .e?v x", "ask"],
    ["cp -r links x", "allow"],
    ["cp a.ts x", "allow"],
  ] as const)("do not override rules for Read: %s", async (command, effect) => {
    expect(await judge(command, [...rules, deny("Read(.env)")])).toBe(effect);
    expect(await judge(command, [allow("Bash"), deny("Read(.env)")])).toBe(effect);
  });

  it("do not affect commands that a person allowed for the session", async () => {
    const rule: Rule = { text: "Bash(cp -r . x)", effect: "allow", scope: "session" };
    expect(await judge("cp -r . x", [rule, deny("Read(.env)")])).toBe("allow");
  });
});
