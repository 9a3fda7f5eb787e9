import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readOptions, splitRules } from "./read-options.ts";

const kinds = {
  model: { value: "NAME", short: "m" },
  print: { short: "p" },
  level: { value: "L", choices: ["low", "high"] },
};
const read = (...argv: string[]) => readOptions(argv, { kinds, help: "x --help" });

describe("readOptions", () => {
  it("reads long, short, joined and inline forms", () => {
    expect(read("--model", "a", "-m", "b", "--model=c").values("model")).toEqual(["a", "b", "c"]);
    const joined = read("-pm", "a", "word");
    expect([joined.has("print"), joined.value("model"), joined.positionals]).toEqual([true, "a", ["word"]]);
    expect(read("--model=-a").value("model")).toBe("-a");
    expect(read("--", "-p", "--model").positionals).toEqual(["-p", "--model"]);
  });

  it.each([
    [["--modle", "a"], "Did you mean --model?"],
    [["--modle=a"], "There is no option --modle"],
    [["-x"], "There is no option -x"],
    [["--model"], "needs a value"],
    [["--model", "-p"], "needs a value"],
    [["--model", " "], "is empty"],
    [["--print=yes"], "takes no value"],
    [["--level", "hihg"], "Did you mean high?"],
    [["--level", "hi"], '"hi". It can be'],
    [["-m=a"], "Use -m a or --model=a."],
    [["--constructor"], "There is no option --constructor"],
    [["--__proto__=1"], "There is no option --__proto__"],
  ])("refuses %j", (argv, says) => {
    let message = "";
    try {
      read(...argv);
    } catch (error) {
      const { message: what, fix } = error as { message: string; fix: string };
      message = `${what}. ${fix}`;
    }
    expect(message).toContain(says);
  });

  it("either reads a command line or rejects it with a message for the user", () => {
    const word = fc.oneof(fc.string(), fc.constantFrom("-p", "-m", "--model", "--", "--level", "low", "-pm", "--x=y"));
    fc.assert(
      fc.property(fc.array(word), (argv) => {
        try {
          const { positionals } = read(...argv);
          expect(positionals.length).toBeLessThanOrEqual(argv.length);
        } catch (error) {
          expect(error).toMatchObject({ name: "UserError", exitCode: 2 });
        }
      }),
    );
  });
});

describe("splitRules", () => {
  it("splits rules at commas and spaces outside of parentheses", () => {
    expect(splitRules(" Read,Edit  Bash(git log, git show) ,WebFetch(domain:a.b)")).toEqual([
      "Read",
      "Edit",
      "Bash(git log, git show)",
      "WebFetch(domain:a.b)",
    ]);
    expect(splitRules(" , ")).toEqual([]);
    expect(splitRules("Bash(echo (a b))")).toEqual(["Bash(echo (a b))"]);
  });

  it("finds every rule in a list, regardless of the separators", () => {
    const specifier = fc.stringMatching(/^[a-z ,:*/.]{0,12}$/);
    const rule = fc.oneof(
      fc.stringMatching(/^[A-Z][a-z]{1,8}$/),
      fc.tuple(fc.stringMatching(/^[A-Z][a-z]{1,8}$/), specifier).map(([tool, inner]) => `${tool}(${inner})`),
    );
    const separator = fc.constantFrom(",", " ", ", ", "\n", " , ");
    fc.assert(
      fc.property(fc.array(rule), separator, (rules, between) => {
        expect(splitRules(rules.join(between))).toEqual(rules);
      }),
    );
  });
});
