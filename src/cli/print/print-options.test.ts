import { describe, expect, it } from "vitest";
import { parseArguments } from "./print-options.ts";

describe("parseArguments", () => {
  it("reads a whole command line", () => {
    const words =
      "-p Fix it -m large --provider x --effort high --max-turns 7 -C dir -r 01ab --permission-mode plan --settings s.json --trust --verbose --output-format stream-json --include-partial-messages --forward-subagent-text --max-cost 0.5 --max-tokens 9000 --max-spawns 3 --acceptance true";
    expect(parseArguments(words.split(" "))).toEqual({
      kind: "print",
      options: {
        prompt: "Fix it",
        outputFormat: "stream-json",
        partialMessages: true,
        subagentText: true,
        model: "large",
        provider: "x",
        effort: "high",
        maxTurns: 7,
        maxCost: 0.5,
        maxTokens: 9000,
        maxSpawns: 3,
        acceptance: ["true"],
        cwd: "dir",
        resume: "01ab",
        continueLatest: false,
        permissionMode: "plan",
        allowedTools: [],
        disallowedTools: [],
        settings: "s.json",
        trust: true,
        verbose: true,
        quiet: false,
      },
    });
  });

  it("reads help about a command, and refuses one there is not", () => {
    expect(parseArguments(["help"])).toEqual({ kind: "help", topic: "retinue" });
    expect(parseArguments(["help", "sessions"])).toEqual({ kind: "help", topic: "sessions" });
    expect(() => parseArguments(["help", "sesions"])).toThrow('There is no command "sesions"');
    expect(parseArguments(["version"])).toEqual({ kind: "version" });
  });

  it("reads a session to go on with in both places", () => {
    const go = { kind: "print", options: { resume: "01ab", prompt: "And now?", verbose: true } };
    expect(parseArguments(["sessions", "resume", "01ab", "And now?", "--verbose"])).toMatchObject(go);
    expect(parseArguments(["sessions", "resume", "--verbose", "01ab", "And", "now?"])).toMatchObject(go);
    expect(() => parseArguments(["sessions", "resume"])).toThrow("needs the id of a session");
    expect(() => parseArguments(["sessions", "resume", "01ab", "-c"])).toThrow("There is no option -c");
    expect(parseArguments(["sessions", "resume", "--help"])).toEqual({ kind: "help", topic: "sessions" });
  });

  it("reads who works, and agents for this run", () => {
    const agents = { poet: { description: "Writes verse.", prompt: "You rhyme." } };
    const command = parseArguments(["-p", "--agent", "poet", "--agents", JSON.stringify(agents), "go"]);
    expect(command).toMatchObject({ kind: "print", options: { prompt: "go", agent: "poet", agents } });
    for (const bad of ["{poet", "[]", '"poet"', "null"]) {
      expect(() => parseArguments(["-p", "--agents", bad, "go"]), bad).toThrow("--agents");
    }
  });

  it("adds up rules of several flags", () => {
    const command = parseArguments([
      "-p",
      "--allowed-tools",
      "Read, Bash(git log, x)",
      "--allowed-tools=Edit Write",
      "--disallowed-tools",
      "WebFetch",
      "go",
    ]);
    expect(command).toMatchObject({
      options: {
        prompt: "go",
        allowedTools: ["Read", "Bash(git log, x)", "Edit", "Write"],
        disallowedTools: ["WebFetch"],
      },
    });
  });

  it("takes the names of commands as words of a prompt, where they do not stand first", () => {
    expect(parseArguments(["-p", "doctor"])).toMatchObject({ kind: "print", options: { prompt: "doctor" } });
    expect(parseArguments(["-p", "--", "sessions", "--help"])).toMatchObject({
      options: { prompt: "sessions --help" },
    });
  });

  it.each([
    [["sessions"], { kind: "sessions.list", json: false, all: false }],
    [["sessions", "--all", "--json"], { kind: "sessions.list", json: true, all: true }],
    [["sessions", "list", "-C", "x"], { kind: "sessions.list", json: false, all: false, cwd: "x" }],
    [["sessions", "show", "a", "--json"], { kind: "sessions.show", id: "a", json: true }],
    [["sessions", "show", "a/b"], { kind: "sessions.show", id: "a", agent: "b", json: false }],
    [["sessions", "show", "a", "--agent", "b"], { kind: "sessions.show", id: "a", agent: "b", json: false }],
    [["sessions", "export", "a"], { kind: "sessions.export", id: "a" }],
    [["sessions", "delete", "a", "b", "-y"], { kind: "sessions.delete", ids: ["a", "b"], yes: true }],
    [["trust"], { kind: "trust.list", json: false }],
    [["trust", "add"], { kind: "trust.add", directory: "." }],
    [["trust", "remove", "x"], { kind: "trust.remove", directory: "x" }],
    [["config"], { kind: "config.show", json: false, origin: false, trust: false }],
    [
      ["config", "show", "--origin", "-C", "x"],
      { kind: "config.show", json: false, origin: true, trust: false, cwd: "x" },
    ],
    [["help", "trust"], { kind: "help", topic: "trust" }],
    [["config", "-h"], { kind: "help", topic: "config" }],
    [["doctor", "--model", "m"], { kind: "doctor", options: { json: false, model: "m" } }],
    [["help", "doctor"], { kind: "help", topic: "doctor" }],
    [["doctor", "-h"], { kind: "help", topic: "doctor" }],
    [["--version"], { kind: "version" }],
    [["do", "something", "about", "it"], { kind: "interactive", prompt: "do something about it" }],
  ])("%j", (words, command) => {
    expect(parseArguments(words)).toEqual(command);
  });

  it("throws only errors for people, with exit code 2", () => {
    const words = [
      ["--nope"],
      ["-p", "--max-turns", "x"],
      ["-p", "--max-cost", "-1"],
      ["-p", "--max-cost", "1e"],
      ["-p", "--max-cost", "0"],
      ["-p", "--max-tokens", "0"],
      ["-p", "--max-spawns", "1.5"],
      ["-p", "--quiet", "--verbose"],
      ["-p", "--forward-subagent-text"],
      ["sessions", "x"],
      ["sessions", "show", "a/"],
      ["sessions", "show", "/b"],
      ["sessions", "show", "a/b", "--agent", "c"],
      ["sessions", "export"],
      ["sessions", "show", "a", "b"],
      ["trust", "all"],
      ["trust", "add", "a", "b"],
      ["config", "set"],
      ["config", "show", "x"],
      ["docter"],
    ];
    for (const each of words) {
      expect(() => parseArguments(each)).toThrowError(expect.objectContaining({ name: "UserError", exitCode: 2 }));
    }
  });
});
