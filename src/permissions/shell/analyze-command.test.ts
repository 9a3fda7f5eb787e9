import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { analyzeCommand } from "./analyze-command.ts";
import { everyCommand, programOf } from "./shell-analysis.ts";

const programs = (text: string) => [...everyCommand(analyzeCommand(text).commands)].map(programOf).sort();

describe("commands are found in every position", () => {
  it.each([
    ["a; b && c || d | e & f", "a b c d e f"],
    ["(a; { b; })", "a b"],
    ["if a; then b; elif c; then d; else e; fi", "a b c d e"],
    ["for x in $(a); do b; done", "a b"],
    ["while a; do b; done < <(c)", "a b c"],
    ["case $(a) in x) b;; *) c;; esac", "a b c"],
    ['a "$(b `c`)"', "a b c"],
    ["a <<X\n$(b)\nX\nc", "a b c"],
    ["a <<'X'\n$(b)\nX", "a"],
    ['a <<< "$(b)"', "a b"],
    ["a $" + "{x:-$(b)} $((1 + $(c)))", "a b c"],
    ["x=$(a) b", "a b"],
    ["x=(1 $(a)); y[$(b)]=1", "a b"],
    ["f() { a; }; coproc b", "a b"],
    ["[[ -n $(a) ]]", "a"],
    ["! time a", "a"],
    ["env -i X=1 nice -n 5 timeout 9 nohup a", "a env nice nohup timeout"],
    ["xargs -n1 a", "a xargs"],
    ["bash -c 'a; b'", "a b bash"],
    ["eval 'a | b'", "a b eval"],
    ["trap 'a' EXIT", "a trap"],
    ["command exec a", "a command exec"],
    ["find . -exec a {} + -execdir b ';'", "a b find"],
    ["env -S 'a b'", "a env"],
  ])("%s", (text, expected) => expect(programs(text)).toEqual(expected.split(" ")));
});

describe("redirections", () => {
  const files = (text: string) => analyzeCommand(text).redirections.map(({ kind, path }) => `${kind} ${path}`);

  it.each([
    ["a > x", ["write x"]],
    ["a >> 'x y' < z", ["write x y", "read z"]],
    ["a &> x", ["write x"]],
    ["a >& x", ["write x"]],
    ["a <> x", ["write x"]],
    ["{ a; } > x", ["write x"]],
    ["for i in 1; do a; done > x", ["write x"]],
    ["echo $(<x)", ["read x"]],
    ["bash -c 'a > x'", ["write x"]],
    ["a > $x", ["write undefined"]],
    ["a > ~/x", ["write ~/x"]],
    ["a > *.x", ["write undefined"]],
    ["cd b && a > x", ["write b/x"]],
    ["cd b && a > /x", ["write /x"]],
    ["cd b; a > x", ["write b/x", "write x"]],
    ["cd b | cat && a > x", ["write x"]],
    ["(cd b) && a > x", ["write x"]],
    ["cd b && cd c && a > x", ["write b/c/x"]],
    ["a > x && cd b", ["write x"]],
    ["cd b || a > x", ["write x"]],
    ["! cd b && a > x", ["write x"]],
    ["cd b && cd .. && a > x", ["write x"]],
    ["cd b/.. && a > ../x", ["write ../x"]],
    ["if cd b; then a > x; else a > y; fi", ["write b/x", "write y"]],
    ["{ cd b; a > x; } &", ["write b/x", "write x"]],
    ["pushd b && a > x", ["write b/x"]],
    ["pushd b && popd && a > x", ["write undefined"]],
    ["cd - && a > x", ["write undefined"]],
    ["cd $b && a > x", ["write undefined"]],
    ["cd -P b && a > x", ["write undefined"]],
    ["cd && a > x", ["write ~/x"]],
    ["for i in 1 2; do cd b; done; a > x", ["write undefined"]],
    ["for i in b c; do (cd $i && a > x); done", ["write b/x", "write c/x"]],
    ["while cd b; do a > x; done", ["write undefined"]],
    ["command cd b && a > x", ["write x", "write b/x"]],
    ["eval 'cd b' && a > x", ["write b/x"]],
    ["bash -c 'cd b'; a > x", ["write x"]],
    ["a $(cd b) > x", ["write x"]],
    ["f() { cd b; }; f; a > x", ["write undefined"]],
    ["f() { a > x; }; cd b && f", ["write undefined"]],
    ["env -C b sh -c 'a > x'", ["write undefined"]],
    ["a > {b,c}", ["write undefined"]],
    ["find . -execdir sh -c 'a > x' ';'", ["write undefined"]],
    ["a > /dev/null 2>&1 3>&- < /dev/stdin", []],
    ["a > >(b)", []],
  ])("%s", (text, expected) => expect(files(text)).toEqual(expected));
});

describe("text that can't be analyzed", () => {
  const obscure = (text: string) => analyzeCommand(text).obscure;

  it.each([
    'a "b',
    "a &&& b",
    "a $((x))",
    "echo $" + "{x@P}",
    "echo $" + "{!x}",
    "echo $" + "{a[x]}",
    "echo $" + "{a:x}",
    "[[ $x -eq 1 ]]",
    "[[ -v x ]]",
    "((x++))",
    "echo $[a[x]]",
    "a[$(b)]=1",
    "a[x]=1 b",
    "a=([x]=1)",
    "a+=(['b[$(c)]']=1)",
    "sh -c \"echo $'a'\"",
    "sh -c 'echo {a,b}'",
    "echo {1..100000}",
    "trap 'cd b' DEBUG",
    "for d in b; do cd $d; done; d=c",
    'eval "$x"',
    'bash -c "$x"',
    "PATH=.",
    "for PATH in .; do a; done",
    "a\u001b",
    "cat < /dev/tcp/a/80",
    "echo \ud800",
    // Inside double quotes and here-documents, single quotes have no special meaning.
    ...["$'$(b)'", "'$(b)'", "a$'`b`'", "$'}'$(b)", "<(a '$(b)')", "$" + "{y:-$'$(b)'}", "\"$'$(b)'\""].flatMap(
      (text) => [
        ...[":-", ":+", "-", "#", "%%", "/a/", "/"].map((operator) => `a "\${x${operator}${text}}"`),
        ...["a", "[[ a == ", "a <<< ", "x="].map(
          (before) => `${before}"\${x:-${text}}"${before.startsWith("[") ? " ]]" : ""}`,
        ),
        `a $"\${x:-${text}}"`,
        `a \${x:-"\${@:-${text}}"}`,
        `case "\${x:-${text}}" in a) ;; esac`,
        `a <<E\n\${x:-${text}}\nE`,
        `a <<-E\n\tb \${x:-${text}}\nE`,
      ],
    ),
  ])("%j", (text) => expect(obscure(text)).toBeTypeOf("string"));

  it("includes anything beyond a limit", () => {
    expect(obscure(`echo ${"$(".repeat(3_000)}a${")".repeat(3_000)}`)).toBeTypeOf("string");
    expect(obscure("(".repeat(3_000))).toBeTypeOf("string");
    expect(obscure(`echo $((${"(".repeat(5_000)}1${")".repeat(5_000)}))`)).toBeTypeOf("string");
    expect(obscure(`echo $((1${"+1".repeat(60_000)}))`)).toBeTypeOf("string");
    expect(obscure(`echo ${"$x".repeat(100_000)}`)).toContain("longer than");
    expect(obscure(`${"echo $(".repeat(70)}${"a".repeat(60_000)}${")".repeat(70)}`)).toContain("nested");
    for (const braces of ["{", "{a", "{,", '{" "', '{"}"']) {
      expect(obscure(`cat ${braces.repeat(30_000)}`)).toContain("braces");
    }
  });

  it.each([
    'a "$' + "{x:-$(b 'c')}\"",
    "a \"it's $" + '{x:-b}"',
    "a <<E\nit's $" + "{x:-b} $(c 'd')\nE",
    "a $" + "{x:-'b'} $" + "{x:-$'b'}",
    "a <<'E'\n$" + "{x:-'b'}\nE",
  ])("does not include %j", (text) => expect(obscure(text)).toBeUndefined());

  it("does not include commands that are merely nested or long", () => {
    const nested = `${"echo $(".repeat(30)}a${")".repeat(30)}`;
    expect(obscure(nested)).toBeUndefined();
    expect(programs(nested)).toHaveLength(31);
    expect(obscure(`echo ${"a$x".repeat(40_000)}`)).toBeUndefined();
    expect(programs("echo $x; ".repeat(5_000))).toHaveLength(5_000);
    for (const line of ['print(f"{x} of {total:.2f}")', '{"name": "a", "value": [{"b": 1}]}', "\\section{One}"]) {
      expect(obscure(`cat > out <<'EOF'\n${`${line}\n`.repeat(500)}EOF`)).toBeUndefined();
    }
  });

  it("never makes the analysis throw", () => {
    const piece = fc.constantFrom(
      ..."$ ( ) { } [ ] ` ' \" \\ \n ; & | < > # ~ * ? ! = a 1 <<X $(( [[ for do done case esac in if fi".split(" "),
      " ",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 30 }), (pieces) => {
        expect(analyzeCommand(pieces.join("")).text).toBe(pieces.join(""));
      }),
      { numRuns: 2_000 },
    );
  });
});

it("splits known words as bash does", () => {
  const piece = fc.oneof(
    fc.stringMatching(/^[\w./:=,+@%^-]{1,6}$/),
    fc.string({ maxLength: 6 }).map((text) => `'${text.replaceAll("'", "\n")}'`),
    fc.string({ maxLength: 6, unit: "binary-ascii" }).map((text) => `"${text}"`),
    fc.stringMatching(/^[a-zA-Z0-9\\'"x]{1,5}$/).map((text) => `$'${text.replace(/'/g, "\\'")}'`),
    fc.string({ maxLength: 2, unit: "binary-ascii" }).map((text) => `\\${text}`),
    fc.constantFrom(" ", "\t", "  ", "~", "$x", "*", "#", "{a,b}", "{", "}", "\\\n", "é", "\u3000"),
  );
  const command = fc.array(piece, { maxLength: 8 }).map((pieces) => `x ${pieces.join("")}`);
  const samples = fc.sample(command, { numRuns: 2_000, seed: 7 }).flatMap((text) => {
    const { commands, obscure, redirections } = analyzeCommand(text);
    const [only] = commands;
    if (obscure !== undefined || commands.length !== 1 || redirections.length > 0 || /\\$/.test(text)) return [];
    if (only!.words.some(({ open }) => open !== undefined)) return [];
    return [{ text, words: only!.words.map((each) => each.text) }];
  });
  expect(samples.length).toBeGreaterThan(200);
  const script = samples.map(({ text }) => `${text}\nprintf 'END-OF-IT'\n`).join("");
  const output = execFileSync("bash", ["--norc", "--noprofile"], {
    input: `x() { printf '%s\\0' "$@"; }\n${script}`,
    cwd: "/",
    encoding: "utf8",
    env: { LC_ALL: "C.UTF-8", PATH: process.env["PATH"] ?? "" },
  });
  const read = output
    .split("END-OF-IT")
    .slice(0, -1)
    .map((part) => part.split("\0").slice(0, -1));
  // Without arguments, printf prints one empty line.
  const expected = samples.map(({ words }) => (words.length === 1 ? [""] : words.slice(1)));
  expect(read.map((words) => (words.length === 0 ? [""] : words))).toEqual(expected);
});
