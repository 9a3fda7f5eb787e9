import { describe, expect, it } from "vitest";
import { parseRoot } from "./run-command.ts";

describe("parseRoot", () => {
  it("reads a whole command line", () => {
    const argv =
      "-p Fix it -m large --provider x --effort high --max-turns 7 -C dir -r 01ab --permission-mode plan --settings s.json --trust --verbose --output-format stream-json --include-partial-messages --forward-subagent-text --max-cost 0.5 --max-tokens 9000 --max-spawns 3 --acceptance true";
    expect(parseRoot(argv.split(" "))).toEqual({
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
        coordinator: false,
        trust: true,
        verbose: true,
        quiet: false,
        repeated:
          "-m large --provider x --effort high --max-turns 7 --max-cost 0.5 --max-tokens 9000 --max-spawns 3 --acceptance true -C dir --permission-mode plan --settings s.json --trust",
      },
    });
  });

  it.each([
    [["--on-ask", "wait"], "--on-ask wait"],
    [
      ["--disallowed-tools", "Bash(rm *)", "--disallowed-tools=Read(it's)"],
      "--disallowed-tools 'Bash(rm *)' --disallowed-tools 'Read(it'\\''s)'",
    ],
    [["--agents", `{"x":{"description":"${"d".repeat(200)}","prompt":"p"}}`], "--agents '…'"],
    [["-q", "--agent", "Plan", "--output-format", "json", "-c"], ""],
  ])("repeats the options that the resume command needs: %j", (argv, repeated) => {
    expect(parseRoot(["-p", "x", ...argv])).toMatchObject({ options: { repeated } });
  });

  it("shows help for a command, and rejects an unknown one", () => {
    expect(parseRoot(["help"])).toEqual({ kind: "help", topic: "retinue" });
    expect(parseRoot(["help", "sessions"])).toEqual({ kind: "help", topic: "sessions" });
    expect(() => parseRoot(["help", "sesions"])).toThrow('There is no command "sesions"');
    expect(parseRoot(["version"])).toEqual({ kind: "version" });
  });

  it.each(["help", "run", "-p", "--print", "retinue"])("shows the main help page for %s", (topic) => {
    expect(parseRoot(["help", topic])).toEqual({ kind: "help", topic: "retinue" });
  });

  it("says that a short option takes no value", () => {
    const refused = { message: "-p takes no value", fix: expect.stringContaining('retinue -p "…"'), exitCode: 2 };
    expect(() => parseRoot(["-p=1", "x"])).toThrowError(expect.objectContaining(refused));
  });

  it("explains prompts that begin with a dash only for a run", () => {
    const fix = (argv: readonly string[]): string => {
      try {
        parseRoot(argv);
        return "";
      } catch (error) {
        return (error as { fix: string }).fix;
      }
    };
    expect(fix(["-p", "- a list"])).toContain('goes after "--"');
    expect(fix(["- a list"])).toBe('See "retinue --help".');
  });

  it.each([
    [["--allowed-tools", "Baash"], "--allowed-tools: `Baash` is not a valid rule", /no tool "Baash".*mean "Bash"\?/],
    [
      ["--disallowed-tools", "Read, Bash(rm"],
      "--disallowed-tools: `Bash(rm` is not a valid rule",
      /closing parenthesis is missing; write `Bash\(rm\)`/,
    ],
  ])("rejects the rule in %j", (argv, message, fix) => {
    const refused = { message, fix: expect.stringMatching(fix), exitCode: 2 };
    expect(() => parseRoot(["-p", "go", ...argv])).toThrowError(expect.objectContaining(refused));
  });

  it("reads the agent to run, and agents for this run", () => {
    const agents = { poet: { description: "Writes verse.", prompt: "You rhyme." } };
    const command = parseRoot(["-p", "--agent", "poet", "--agents", JSON.stringify(agents), "go"]);
    expect(command).toMatchObject({ kind: "print", options: { prompt: "go", agent: "poet", agents } });
    for (const bad of ["{poet", "[]", '"poet"', "null"]) {
      expect(() => parseRoot(["-p", "--agents", bad, "go"]), bad).toThrow("--agents");
    }
    const misquoted = '--agents is not JSON: line 1, column 2: expected a key in double quotes, not "p"';
    expect(() => parseRoot(["-p", "--agents", "{poet", "go"])).toThrow(misquoted);
  });

  it("combines the rules from several flags", () => {
    const command = parseRoot([
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

  it("treats the name of a command as part of the prompt, unless it comes first", () => {
    expect(parseRoot(["-p", "doctor"])).toMatchObject({ kind: "print", options: { prompt: "doctor" } });
    expect(parseRoot(["-p", "--", "sessions", "--help"])).toMatchObject({ options: { prompt: "sessions --help" } });
  });

  it.each([
    [["help", "trust"], { kind: "help", topic: "trust" }],
    [["help", "doctor"], { kind: "help", topic: "doctor" }],
    [["--version"], { kind: "version" }],
    [["do", "something", "about", "it"], { kind: "interactive", options: { prompt: "do something about it" } }],
    [["--plain", "--continue"], { kind: "interactive", options: { plain: true, continueLatest: true, prompt: "" } }],
  ])("%j", (argv, command) => {
    expect(parseRoot(argv)).toMatchObject(command);
  });

  it.each([
    [["mcp", "list"], 'There is no command "mcp"', /\.mcp\.json.*For a prompt: retinue -p "mcp list"\./],
    [
      ["--trust", "doctor"],
      '"doctor" comes after an option',
      /^Put the command first: retinue doctor \[options\]\. For a prompt:/,
    ],
    [["statu"], 'There is no command "statu"', /Use `retinue ps`.*For a prompt: retinue -p "statu"\./],
    [["map"], 'There is no command "map"', /^To map a repository, send a prompt: retinue -p "Map this repository"\./],
    [["login"], 'There is no command "login"', /ANTHROPIC_API_KEY.*retinue -p "login"/],
    [["update"], 'There is no command "update"', /Install the new version/],
    [["init"], 'There is no command "init"', /agents new/],
    [["acp"], 'There is no command "acp"', /^This version can't be used from editors.*retinue serve.*-p "acp"\./],
    [["acp", "--stdio"], 'There is no command "acp"', /^This version can't be used from editors/],
    [["--trust", "acp"], 'There is no command "acp"', /^This version can't be used from editors/],
    [["acp", "--help"], 'There is no command "acp"', /^This version can't be used from editors/],
    [["demo"], 'There is no command "demo"', /^To try Retinue, send a prompt: retinue -p "Map this repository"\./],
    [["demo", "--no-color"], 'There is no command "demo"', /^To try Retinue/],
    [["mcp", "serve"], 'There is no command "mcp"', /^This version can't offer its agents to other programs over MCP/],
    [
      ["frobnicate"],
      'There is no command "frobnicate"',
      /^See `retinue --help`\. For a prompt: retinue -p "frobnicate"/,
    ],
    [["explain"], 'There is no command "explain"', /For a prompt: retinue -p "explain"/],
    [["hello", "-m", "large"], 'There is no command "hello"', /For a prompt: retinue -p "hello"/],
    [["server", "8080"], 'There is no command "server"', /retinue serve/],
    [["sevre"], 'There is no command "sevre"', /Did you mean "retinue serve"\?/],
    [["wroker"], 'There is no command "wroker"', /Did you mean "retinue worker"\?/],
    [["updat"], 'There is no command "updat"', /Install the new version/],
    [
      ["sesions", "list"],
      'There is no command "sesions"',
      /Did you mean "retinue sessions"\? For a prompt: retinue -p /,
    ],
    [["confg", "show"], 'There is no command "confg"', /Did you mean "retinue config"\?/],
  ])("%j looks like a command, not a prompt", (argv, message, fix) => {
    expect(() => parseRoot(argv)).toThrowError(expect.objectContaining({ message, exitCode: 2 }));
    expect(() => parseRoot(argv)).toThrowError(expect.objectContaining({ fix: expect.stringMatching(fix) }));
  });

  it("shows help for a prompt, whatever the prompt is", () => {
    expect(parseRoot(["-p", "demo", "--help"])).toEqual({ kind: "help", topic: "retinue" });
    expect(() => parseRoot(["-p", "demo", "--nope"])).toThrow("--nope");
  });

  it.each([
    [["Fix it"]],
    [["fix", "tests"]],
    [["update", "the", "readme"]],
    [["Update the readme"]],
    [["mcp server does not start: why?"]],
    [["Explain"]],
    [["explain."]],
    [["why?"]],
    [["README.md"]],
    [["42"]],
    [["プロジェクト"]],
    [["--", "explain"]],
    [["--", "sessions"]],
    [["--", "mcp", "list"]],
    [["--plain", "--", "acp"]],
    [["--plain", "explain"]],
  ])("%j is a prompt", (argv) => {
    const prompt = argv.filter((word) => !word.startsWith("--")).join(" ");
    expect(parseRoot(argv)).toMatchObject({ kind: "interactive", options: { prompt } });
    if (!argv.includes("--plain"))
      expect(parseRoot(["-p", ...argv])).toMatchObject({ kind: "print", options: { prompt } });
  });

  it.each([
    [["--nope"]],
    [["--output-format", "json"]],
    [["-p", "--plain", "x"]],
    [["-p", "--max-turns", "x"]],
    [["-p", "--max-cost", "-1"]],
    [["-p", "--max-cost", "1e"]],
    [["-p", "--max-cost", "0"]],
    [["-p", "--max-tokens", "0"]],
    [["-p", "--max-spawns", "1.5"]],
    [["-p", "--quiet", "--verbose"]],
    [["-p", "--forward-subagent-text"]],
    [["docter"]],
    [["mcp", "list"]],
  ])("rejects %j with a user error and exit code 2", (argv) => {
    expect(() => parseRoot(argv)).toThrowError(expect.objectContaining({ name: "UserError", exitCode: 2 }));
  });
});
