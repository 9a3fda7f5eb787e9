import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, type Place, retinue } from "./command-line.ts";

function write(place: Place, files: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(files)) {
    const path = join(name.startsWith("~/") ? place.home : place.cwd, name.replace("~/", ""));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  }
}

const settings = { permissions: { allow: ["Bash(npm test)"], ask: ["Bash(git push:*)"], deny: ["Read(.env)"] } };
const lines = '{ "bash": { "*": "ask", "make *": "allow" } } // in this order';

describe("retinue permissions", () => {
  it("lists the effective rules with their origins", async () => {
    const place = createPlace();
    expect(await retinue(["permissions"], place)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/There are no rules/),
    });
    write(place, { "~/settings.json": settings, "~/permissions.jsonc": lines });
    const { code, stdout } = await retinue(["permissions", "list", "--origin"], place);
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/).slice(0, 2).join(" "))).toEqual([
      "Mode: default.",
      "EFFECT RULE",
      "deny Read(.env)",
      "ask Bash(git push:*)",
      "ask Bash",
      "allow Bash(make *)",
      "allow Bash(npm test)",
      "",
    ]);
    expect(stdout).toContain(
      `user, ${join(place.home, "permissions.jsonc")} (short form: the last matching rule applies)`,
    );
    const json = JSON.parse((await retinue(["permissions", "list", "--json"], place)).stdout);
    expect(json.rules[0]).toMatchObject({ text: "Read(.env)", effect: "deny", scope: "user" });
  });

  it("answers every row, and ends with exit code 2 if a row is not valid", async () => {
    const row = JSON.stringify({ id: "a", input: { tool: "Bash", command: "ls" } });
    const words = ["permissions", "check", "--jsonl"];
    expect(await retinue(words, { ...createPlace(), input: `${row}\n` })).toMatchObject({ code: 0, stderr: "" });
    const run = await retinue(words, { ...createPlace(), input: `{"id": "b"}\n${row}\n` });
    expect(run.code).toBe(2);
    expect(run.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(run.stderr).toBe('retinue: 1 row can\'t be used: see "invalid row" in the output.\n');
  });

  it("reports rules that can't be parsed", async () => {
    const place = createPlace();
    write(place, { "~/settings.json": { permissions: { deny: ["WebFetch(example.com)"] } } });
    const { stderr } = await retinue(["permissions", "list"], place);
    expect(stderr).toContain("a WebFetch rule must name a host");
  });

  it("marks ignored rules and keys, and never suggests a mode with more rights", async () => {
    const place = createPlace();
    const allow = ["Baash(ls)", "Bash(npm test", "Read(a)"];
    write(place, { "~/settings.json": { modle: "x", maxTurns: 9, permissions: { allow, deny: ["Bash(rm"] } } });
    const list = (await retinue(["permissions", "list"], place)).stdout;
    expect(list.split("\n").map((line) => line.split(/ {2,}/).join("|"))).toEqual(
      [
        "Mode: default.",
        "EFFECT|RULE|",
        "deny|Bash(rm|",
        "allow|Baash(ls)|ignored",
        "allow|Bash(npm test|ignored",
        "allow|Read(a)|",
        "",
      ].map((line) => line.replace(/\|$/, "")),
    );
    const config = (await retinue(["config", "show"], place)).stdout;
    expect(config.split("\n").filter((line) => line.endsWith("(ignored)"))).toEqual([
      'modle = "x"   (ignored)',
      'permissions.allow[0] = "Baash(ls)"   (ignored)',
      'permissions.allow[1] = "Bash(npm test"   (ignored)',
    ]);
    write(place, { "~/settings.json": { permissions: { defaultMode: "bypass" } } });
    const refused = await retinue(["config", "show"], place);
    expect(refused).toMatchObject({ code: 2, stderr: expect.not.stringContaining("Did you mean") });
  });

  it("reports rules that name no tool, with file, line and the nearest name", async () => {
    const place = createPlace();
    const text = '{\n  "permissions": {\n    "allow": ["Read"],\n    "deny": [\n      "Baash(ls)"\n    ]\n  }\n}\n';
    write(place, { "~/settings.json": text, "~/permissions.jsonc": '{\n  "Grpe": "deny"\n}\n' });
    const { stderr } = await retinue(["-p", "Map this repository"], place);
    const messages = stderr.split("\n").filter((line) => line.includes("there is no tool"));
    expect(messages).toEqual([
      expect.stringContaining(`${join(place.home, "settings.json")}:5: deny rule \`Baash(ls)\``),
      expect.stringContaining(`${join(place.home, "permissions.jsonc")}:2: deny rule \`Grpe\``),
    ]);
    expect(messages.map((line) => /Did you mean "(\w+)"/.exec(line)?.[1])).toEqual(["Bash", "Grep"]);
    for (const words of [
      ["permissions", "list"],
      ["config", "show"],
    ]) {
      expect((await retinue(words, place)).stderr.match(/there is no tool/g), words.join(" ")).toHaveLength(2);
    }
    const { stdout } = await retinue(["doctor"], place);
    expect(stdout.match(/^! settings .*there is no tool/gm)).toHaveLength(2);
    expect(stdout).not.toContain("✓ settings");
  });

  it("decides on calls from standard input, and says whether it assumed a sandbox", async () => {
    const place = createPlace();
    const command = 'while read f; do cat "$f"; done < list';
    const input = ["ls", command].map((each) => JSON.stringify({ id: each, input: { tool: "Bash", command: each } }));
    const check = async (...words: string[]) => {
      const run = await retinue(["permissions", "check", "--jsonl", ...words], { ...place, input: input.join("\n") });
      return run.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    };
    expect(await check("--sandbox", "off")).toMatchObject([{ decision: "allow" }, { decision: "ask", sandbox: "off" }]);
    expect(await check("--sandbox", "on")).toMatchObject([{ decision: "allow" }, { decision: "allow", sandbox: "on" }]);
    const [, found] = await check();
    expect(found.decision).toBe(found.sandbox === "on" ? "allow" : "ask");
    expect((await retinue(["permissions", "check", "--jsonl", "--sandbox", "x"], place)).code).toBe(2);
  });

  it("rejects unknown arguments", async () => {
    const place = createPlace();
    expect(await retinue(["permissions", "lst"], place)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Did you mean "list"/),
    });
    expect(await retinue(["permissions", "check"], place)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--jsonl/),
    });
  });
});

describe("retinue agents explain", () => {
  const explain = async (place: Place, ...words: string[]) => {
    const { stdout, stderr } = await retinue(["agents", "explain", ...words, "--json", "--trust"], place);
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  };

  it("prints JSON with the decision, the rule and its file, and the effect if no one can approve", async () => {
    const place = createPlace();
    write(place, {
      "~/settings.json": settings,
      "~/permissions.jsonc": lines,
      ".claude/agents/tester.md": "---\ndescription: Tests.\ntools: Bash(npm:*), Bash(make:*), Read\n---\nTest.",
    });
    const file = join(place.home, "settings.json");
    expect(await explain(place, "tester", "Read(.env)")).toMatchObject({
      agent: "tester",
      source: "project",
      mode: "default",
      decision: { effect: "deny", rule: "Read(.env)", scope: "user", file },
    });
    expect((await explain(place, "tester", "Bash(make all)")).decision).toMatchObject({ effect: "allow" });
    expect(await explain(place, "tester", "Bash(npm run build)")).toMatchObject({
      decision: { effect: "ask", rule: "Bash", file: join(place.home, "permissions.jsonc") },
      unattended: { effect: "deny" },
    });
    expect((await explain(place, "tester", "Bash(git push)")).decision).toMatchObject({
      effect: "deny",
      rule: "Bash(npm:*), Bash(make:*)",
    });
    expect((await explain(place, "main", "Bash(git push)")).decision).toMatchObject({ effect: "ask" });
    expect((await explain(place, "Explore", "Write(a.ts)")).decision).toMatchObject({ rule: "not in pool" });
    const planned = await explain(place, "main", "Bash(make)", "--permission-mode", "plan");
    expect(planned.decision).toMatchObject({ effect: "deny", rule: "plan" });
  });

  it("prints the explanation as text, and suggests corrections for invalid arguments", async () => {
    const place = createPlace();
    const { stdout } = await retinue(["agents", "explain", "main", "Write(a.ts)"], place);
    expect(stdout).toMatch(/^ask: Write\(a\.ts\) by main, in mode default\nrule: write in workspace\n/);
    expect(stdout).toContain("if no one can approve: deny");
    expect(await retinue(["agents", "explain", "Explor", "Read(a)"], place)).toMatchObject({
      stderr: expect.stringMatching(/Explore/),
    });
    expect(await retinue(["agents", "explain", "main"], place)).toMatchObject({ code: 2 });
    expect(await retinue(["agents", "explain", "main", "Baash(ls)"], place)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no tool "Baash". Did you mean "Bash"?'),
    });
    expect(await retinue(["agents", "explain", "main", "Edit({)"], place)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/JSON/),
    });
  });
});
