import { describe, expect, it } from "vitest";
import { type DefinitionSource, permissionModes } from "../../protocol/index.ts";
import { mutations, samples } from "./definition.test-support.ts";
import { readAgentFile } from "./read-agent.ts";

const file = "/project/.agents/agents/reviewer.md";

async function read(content: string | Uint8Array, source: DefinitionSource = "project") {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const { definition, diagnostics, body } = await readAgentFile({ bytes, file, source });
  return {
    definition,
    diagnostics,
    body: body(),
    codes: diagnostics.map(({ severity, code }) => `${severity} ${code}`),
  };
}

/** Reads a definition with the given fields and valid `name` and `description` fields, which cause no diagnostics. */
function withFields(frontmatter: string, source?: DefinitionSource) {
  return read(`---\nname: a\ndescription: d\n${frontmatter}\n---\nBody.\n`, source);
}

describe("a name", () => {
  const named = (name: string) => read(`---\ndescription: d\nname: ${name}\n---\nBody.\n`);

  it.each(["Exp\u04cfore", "\uff30lan", "statusline-s\u0435tup"])(
    "that looks like a built-in agent's is reported: %j",
    async (name) => {
      const { definition, diagnostics } = await named(name);
      expect(definition?.name).toBe(name);
      expect(diagnostics).toMatchObject([{ severity: "warning", line: 3, code: "confusable_name" }]);
      expect(diagnostics[0]?.message).toMatch(
        /U\+[0-9A-F]{4}\) and looks like the name of the built-in agent "(Explore|Plan|statusline-setup)"/,
      );
    },
  );

  it("that mixes alphabets in a word is reported, even if it comes from the file name", async () => {
    expect((await named("r\u0435viewer")).diagnostics).toMatchObject([{ code: "confusable_name", line: 3 }]);
    const bytes = Buffer.from("---\ndescription: d\n---\nBody.\n");
    const read = await readAgentFile({ bytes, file: "/p/r\u0435viewer.md", source: "project" });
    expect(read.diagnostics).toMatchObject([{ code: "confusable_name", line: 1 }]);
  });

  it.each(["Explore", "explore", "проверка", "审查员", "prüfer"])("such as %j is accepted", async (name) => {
    expect((await named(name)).diagnostics).toEqual([]);
  });
});

describe("agent files", () => {
  it.each(samples)("are read: $title", async ({ text, name, description, tools }) => {
    const { definition, body } = await read(text);
    expect(definition?.name).toBe(name);
    if (typeof description === "string") expect(definition?.description).toBe(description);
    else expect(definition?.description).toMatch(description);
    expect(definition?.tools).toEqual(tools);
    expect(body).toBe("You are thorough.\n\nWrite short reports.\n");
  });

  it.each(Object.entries(mutations))("are read in the same way with %s", async (_, mutate) => {
    let compared = 0;
    for (const { text, title } of samples) {
      const bytes = mutate(text);
      if (bytes === undefined) continue;
      const [original, mutated] = [await read(text), await read(bytes)];
      expect(mutated.definition, title).toEqual(original.definition);
      expect(mutated.body.trimEnd(), title).toBe(original.body.trimEnd());
      compared += 1;
    }
    expect(compared).toBeGreaterThan(20);
  });

  it.each([0, 10_000])(
    "are read if text follows the closing dashes directly, %i bytes above a horizontal rule in the body",
    async (length) => {
      const prompt = `You are thorough.\n${"x".repeat(300 + length)}\n\n---\n\nWrite short reports.\n`;
      const { definition, body } = await read(`---\nname: a\ndescription: d\n---${prompt}`);
      expect(definition).toMatchObject({ name: "a", description: "d" });
      expect(body).toBe(prompt);
    },
  );

  it("are read to the end of their frontmatter, whatever its length", async () => {
    for (let length = 400; length < 1200; length += 7) {
      const { definition, body } = await read(
        `---\ndescription: ${"d".repeat(length)}\n---\n\nBody.\n${"x".repeat(5000)}`,
      );
      expect(definition?.description).toHaveLength(length);
      expect(body.slice(0, 7)).toBe("Body.\nx");
    }
  });

  it("are read leniently if their YAML is invalid, and the position and reason are reported", async () => {
    const { diagnostics } = await read("---\nname: a\ndescription: Use on: x\ntools: Read\n---\n");
    expect(diagnostics).toMatchObject([{ severity: "warning", file, line: 3, code: "yaml_error" }]);
    expect(diagnostics[0]?.message).toContain('An unquoted value contains ": "');
    expect(diagnostics[0]?.fix).toContain("double quotes");
  });

  it("may contain examples whose lines look like fields", async () => {
    const { definition } = await read(
      '---\ndescription: Helps: a lot\n<example>\nuser: "x"\nassistant: "y"\nnote: z\n</example>\nmodel: haiku\n---\n',
    );
    expect(definition).toMatchObject({ name: "reviewer", model: "haiku" });
    expect(definition?.extra).toBeUndefined();
  });

  it("keep unknown fields, and misspelled fields are reported with their line", async () => {
    const { definition, diagnostics } = await withFields("emoji: x\neffrot: high\nvibe: calm\nmodle: opus");
    expect(definition?.extra).toEqual({ emoji: "x", effrot: "high", vibe: "calm", modle: "opus" });
    expect(definition?.effort).toBeUndefined();
    const notice = { severity: "notice", code: "unknown_field" };
    expect(diagnostics).toMatchObject([
      {
        ...notice,
        line: 4,
        message: 'Unknown fields, which have no effect and are kept as written: "emoji", "vibe".',
      },
      {
        ...notice,
        line: 5,
        message: 'Unknown field "effrot"; it has no effect.',
        fix: 'Did you mean "effort"?',
      },
      { ...notice, line: 7, message: 'Unknown field "modle"; it has no effect.', fix: 'Did you mean "model"?' },
    ]);
  });

  it("are reported with the line if the description field is misspelled", async () => {
    const { definition, diagnostics } = await read("---\nname: a\ncolor: red\ndescripton: Does it.\n---\n");
    expect(definition).toBeUndefined();
    expect(diagnostics).toContainEqual({
      severity: "error",
      file,
      line: 4,
      code: "no_description",
      message:
        'The agent has no description, only a field "descripton", so nothing would ever be delegated to it. It is not loaded.',
      fix: 'Did you mean "description"?',
    });
  });
});

it.each([
  ['---\nname: a\ndescription: "Not closed\nmodel: small\ncolor: red\n---\nHi.\n', 3],
  ["---\nname: a\ndescription: d\ntools: [Read, Grep\ncolor: red\n---\nHi.\n", 4],
])("reports where an unclosed value begins: %j", async (text, line) => {
  const { diagnostics } = await readAgentFile({ bytes: Buffer.from(text), file: "/a.md", source: "project" });
  expect(diagnostics).toContainEqual(expect.objectContaining({ code: "yaml_error", line }));
});

it.each([
  ["description: @me", 3, "begins with @", "double quotes"],
  ["description: d\ntools:\n\t- Read", 5, "indented with a tab", "spaces"],
  ["description: d\ntools:\n  - Read\n - Grep", 6, "indentation", "same number of spaces"],
  ['description: "d', 3, 'no closing "', 'Add " at the end'],
  ["description: d\ntools: [Read, Grep", 4, "no closing ]", "Add ] at the end"],
  ["description: d\ntools: - Read", 4, "same line as its key", "line of its own"],
  ["description: d\ndescription: e", 4, "occurs twice", "Remove one"],
  ["description:Reviews", 3, "not a `key: value` pair", "space after the colon"],
])("says how to correct invalid YAML: %j", async (field, line, says, fix) => {
  const bytes = Buffer.from(`---\nname: a\n${field}\n---\nHi.\n`);
  const { diagnostics } = await readAgentFile({ bytes, file: "/a.md", source: "project" });
  const problem = diagnostics.find(({ code }) => code === "yaml_error");
  expect(problem).toMatchObject({ line, message: expect.stringContaining(says), fix: expect.stringContaining(fix) });
});

describe("unusual files", () => {
  it.each([
    ["# Title\n\nText.\n", "no_frontmatter", 1],
    ["", "no_frontmatter", 1],
    ["---\nname: a\ndescription: d\n", "unclosed_frontmatter", 1],
    ["---js\n{ name: process.exit(3) }\n---\n", "frontmatter_language", 1],
    ["\n--- json\n{}\n---\n", "frontmatter_language", 2],
    ["---\nname: a\ntools: Read\n---\n", "no_description", 2],
    ["---\nname: a\ndescription:\n---\n", "no_description", 3],
    ["---\njust some text\n---\n", "yaml_error", 2],
    ['---\nname: "a\\u001bb"\ndescription: d\n---\n', "bad_name", 2],
    [`---\nname: a\ndescription: ${"x".repeat(70_000)}\n---\n`, "frontmatter_too_large", 1],
    [`---\nname: a\ndescription: d\n---\n${"x".repeat(256 * 1024)}`, "file_too_large", 1],
    [`---\nname: a\ndescription: d\nx: ${"[".repeat(20_000)}\n---\n`, undefined, undefined],
  ])("are rejected: %.40j", async (text, code, line) => {
    const { definition, diagnostics } = await read(text);
    if (code === undefined) return expect(diagnostics.length).toBeGreaterThan(0);
    expect(definition).toBeUndefined();
    expect(diagnostics.find(({ severity }) => severity === "error")).toMatchObject({ code, line, file });
    expect(diagnostics.every(({ fix }) => fix !== "")).toBe(true);
  });

  it("load in full up to 256 KB, and not at all beyond that", async () => {
    const head = "---\nname: a\ndescription: d\n---\n";
    const umlauts = "ü".repeat(1000);
    const filled = umlauts + "x".repeat(256 * 1024 - Buffer.byteLength(head + umlauts));
    const whole = await readAgentFile({ bytes: Buffer.from(head + filled), file, source: "project" });
    expect(whole.definition?.name).toBe("a");
    expect(whole.diagnostics).toEqual([]);
    expect(whole.body() === filled).toBe(true);
    const over = await readAgentFile({ bytes: Buffer.from(`${head}${filled}x`), file, source: "project" });
    expect(over.definition).toBeUndefined();
    expect(over.body()).toBe("");
    expect(over.diagnostics).toMatchObject([{ severity: "error", file, line: 1, code: "file_too_large" }]);
    expect(over.diagnostics[0]?.fix).toMatch(/^Move/);
  });

  it("are rejected for an alias bomb", async () => {
    const levels = ["a: &a [x,x,x,x,x,x,x,x,x,x]"];
    for (const [above, here] of ["ab", "bc", "cd", "de", "ef"])
      levels.push(`${here}: &${here} [${Array(10).fill(`*${above}`).join(",")}]`);
    const { definition, codes } = await read(`---\n${levels.join("\n")}\nname: x\ndescription: d\n---\n`);
    expect(definition).toBeUndefined();
    expect(codes).toEqual(["error yaml_refused"]);
  });

  it.each([
    ["brackets", `z: ${"[".repeat(50_000)}`],
    ["braces", `z: ${"{a: ".repeat(15_000)}`],
    ["brackets on separate lines", `z: [\n${" [\n".repeat(20_000)}`],
    ["brackets next to quoted ones", `z: ${'["]", '.repeat(9_000)}`],
    ["lists on one line", `z:\n  ${"- ".repeat(30_000)}x`],
    ["keys on one line", `${"? ".repeat(30_000)}x`],
    ["keys in brackets", `z: [${`${"a: ".repeat(150)}[x, `.repeat(130)}`],
    ["indentation", Array.from({ length: 330 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
    ["lists on indented lines", [0, 1, 2, 3].map((line) => " ".repeat(300 * line) + "- ".repeat(150)).join("\n")],
  ])("are rejected for values that are nested too deeply by %s", async (_, nested) => {
    const { definition, diagnostics } = await read(`---\nname: x\ndescription: d\n${nested}\n---\n`);
    expect(definition).toBeUndefined();
    expect(diagnostics).toMatchObject([{ code: "yaml_refused", message: "The frontmatter is nested too deeply." }]);
  });

  it("are not rejected for many values that are not nested", async () => {
    const fields = [
      `one: [${"[a], {b: c}, ".repeat(300)}]`,
      `two:\n${"  - a: [b, c]\n".repeat(300)}`,
      `three: |\n${`${" ".repeat(300)}- [ {\n`.repeat(50)}`,
      `four: a ${"- [ ] a ".repeat(300)}`,
      `five: "${"[a: ".repeat(300)}"`,
      ...Array.from({ length: 300 }, (_, index) => `k${index}: { a: [b] }`),
    ];
    const { definition, codes } = await read(`---\nname: x\ndescription: d\n${fields.join("\n")}\n---\n`);
    expect(definition?.name).toBe("x");
    expect(codes.filter((code) => /yaml/.test(code))).toEqual([]);
  });

  it("may use JavaScript property names such as constructor", async () => {
    const { definition } = await read(
      "---\nname: toString\ndescription: d\n__proto__: {polluted: true}\nconstructor: x\n---\n",
    );
    expect(definition?.name).toBe("toString");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(Object.keys(definition?.extra ?? {})).toEqual(["__proto__", "constructor"]);
  });

  it.each([
    new Uint8Array([0xff, 0xfe]),
    new Uint8Array([0, 0, 0]),
    new Uint8Array(300).fill(0x2d),
    Buffer.from("---"),
  ])("never cause an exception: %j", async (bytes) => {
    expect((await read(bytes)).definition).toBeUndefined();
  });
});

describe("permission fields", () => {
  it.each([
    ["tools: [Read, 5]", "unreadable_tools"],
    ["tools: 5", "unreadable_tools"],
    ["tools: Bash(git, Read", "unreadable_tools"],
    ["tools: {Read: maybe}", "unreadable_tools"],
    ["tools: [[Read]]", "unreadable_tools"],
    ["disallowedTools: true", "unreadable_tools"],
    ["permissionMode: allowEverything", "unreadable_mode"],
    ["permissionMode: [plan]", "unreadable_mode"],
    ["permissionMode:", "unreadable_mode"],
    ["permissionMode: constructor", "unreadable_mode"],
    ["readonly: perhaps", "unreadable_mode"],
    ["permission: {bash: sometimes}", "unreadable_permission"],
    ["permission: [deny]", "unreadable_permission"],
    ["permission:", "unreadable_permission"],
    ['permission: {"*": allow, "*.secret": deny}', "unreadable_permission"],
    ["permission: {src/private: {a: deny}}", "unreadable_permission"],
    ["tools: Read\nallowed-tools: Bash", "duplicate_field"],
    ["tools: Read\ntools: Bash", "duplicate_field"],
  ])("in %j prevent the file from loading", async (frontmatter, code) => {
    const { definition, diagnostics } = await withFields(frontmatter);
    expect(definition).toBeUndefined();
    expect(diagnostics.find(({ severity }) => severity === "error")).toMatchObject({ code });
  });

  it.each([
    ["tools: []", { tools: [] }],
    ['tools: ""', { tools: [] }],
    ["tools:", { tools: [] }],
    ["tools: {}", { tools: [] }],
    ["tools: {Read: true, Bash: false}", { tools: ["Read"], disallowedTools: ["Bash"] }],
    ["tools: {write: false, edit: false}", { disallowedTools: ["write", "edit"] }],
    ['tools: {"*": false, read: true}', { tools: ["read"] }],
    ['tools: {"*": false}', { tools: [] }],
    ["tools: NoSuchTool", { tools: ["NoSuchTool"] }],
    ["allowed_tools: Read\ndisallowed-tools: [Bash, Write]", { tools: ["Read"], disallowedTools: ["Bash", "Write"] }],
    ['tools: "*"\ndisallowedTools: Bash(rm:*)', { disallowedTools: ["Bash(rm:*)"] }],
  ])("%j never grants more than it lists", async (frontmatter, expected) => {
    const { definition } = await withFields(frontmatter);
    expect({ tools: definition?.tools, disallowedTools: definition?.disallowedTools }).toEqual(expected);
  });

  it.each([
    ["permissionMode: plan", "plan"],
    ["permission_mode: accept-edits", "acceptEdits"],
    ["permissionMode: manual", "default"],
    ["permissionMode: auto", "default"],
    ["permission_mode: always_confirm", "default"],
    ["permission_mode: confirm_risky", "default"],
    ["approvalMode: auto-edit", "acceptEdits"],
    ["approvalMode: plan\npermissionMode: acceptEdits", "plan"],
    ["readonly: true\npermissionMode: acceptEdits", "plan"],
    ["readonly: false", undefined],
  ])("%j results in the mode %s", async (frontmatter, mode) => {
    expect((await withFields(frontmatter)).definition?.permissionMode).toBe(mode);
  });

  it.each([
    ["permission-mode: acceptEdit", "acceptEdits"],
    ["permissionMode: bypassPermision", "bypassPermissions"],
    ["approvalMode: aut-edit", "auto-edit"],
  ])(
    "%s is rejected with a message that names the field, the value, the allowed values and the closest one",
    async (line, meant) => {
      const [key = "", value] = line.split(": ");
      const { definition, diagnostics } = await withFields(line, "user");
      expect(definition).toBeUndefined();
      expect(diagnostics).toMatchObject([{ severity: "error", line: 4, code: "unreadable_mode" }]);
      const { message, fix } = diagnostics[0]!;
      expect(message).toContain(`"${key}" is "${value}", which is not a permission mode.`);
      const allowed = key === "approvalMode" ? "plan, default, auto-edit, yolo" : permissionModes.join(", ");
      expect(fix).toBe(`Did you mean "${meant}"? Allowed: ${allowed}.`);
    },
  );

  it.each([
    "permissionMode: yolo",
    "permissionMode: bypass",
    "permissionMode: permissions",
    "approvalMode: neverConfirm",
  ])("%s does not lead to a suggestion to turn off approvals", async (line) => {
    const { definition, diagnostics } = await withFields(line, "user");
    expect(definition).toBeUndefined();
    expect(diagnostics[0]?.fix).toMatch(/^Allowed: /);
  });

  it.each(["permissionMode: bypassPermissions", "approvalMode: yolo", "permission_mode: never_confirm"])(
    "%s applies only in the user's own files",
    async (frontmatter) => {
      expect((await withFields(frontmatter, "user")).definition?.permissionMode).toBe("bypassPermissions");
      const project = await withFields(frontmatter, "project");
      expect(project.definition?.permissionMode).toBeUndefined();
      expect(project.diagnostics).toMatchObject([{ severity: "warning", code: "mode_not_allowed", line: 4 }]);
    },
  );

  it.each([
    ["tool: Read", "tools"],
    ["toosl: [Read]", "tools"],
    ["allowed_tool: Read", "allowedTools"],
    ["disallowedTool: Bash", "disallowedTools"],
    ["disallow-tools: Bash", "disallowedTools"],
    ["requiredTool: Bash", "requiredTools"],
    ["permissions: {bash: deny}", "permission"],
    ["permisionMode: plan", "permissionMode"],
    ["aproval-mode: plan", "approvalMode"],
    ["maxTruns: 3", "maxTurns"],
    ["budgets: {usd: 1}", "budget"],
    ["isolaton: worktree", "isolation"],
    ["hook: {Stop: [{command: x}]}", "hooks"],
    ["readonyl: true", "readonly"],
    ["disabel: true", "disable"],
  ])("prevent loading if a restricting field is misspelled: %s", async (line, meant) => {
    const { definition, diagnostics } = await withFields(line);
    expect(definition).toBeUndefined();
    const key = line.slice(0, line.indexOf(":"));
    expect(diagnostics).toEqual([
      {
        severity: "error",
        file: expect.stringContaining(".md"),
        line: 4,
        code: "misspelled_field",
        message: `Unknown field "${key}". The agent is not loaded, so that it can't run with more rights than intended.`,
        fix: `Did you mean "${meant}"? Correct the name, or delete the line.`,
      },
    ]);
  });

  it.each([
    "toolset: a",
    "step: 1",
    "context-budget: 3",
    "maxTokens: 9",
    "requiredRoles: a",
    "modle: opus",
    "enabled: true",
  ])("do not prevent loading if a field only resembles a restricting one: %s", async (line) => {
    const { definition, codes } = await withFields(line);
    expect(definition).toBeDefined();
    expect(codes).toEqual(["notice unknown_field"]);
  });

  it.each([
    ["tools: Read, Baash", "tools", "Baash", "Bash"],
    ["disallowedTools: WebSea", "disallowedTools", "WebSea", "WebSearch"],
    ["permission: {Baash: allow}", "permission", "Baash", "Bash"],
    ["required-tools: [Grpe]", "required-tools", "Grpe", "Grep"],
  ])("cause a warning if an entry names no tool: %s", async (line, field, tool, meant) => {
    const { definition, diagnostics } = await read(`---\nname: a\ndescription: Does it.\n${line}\n---\n`);
    expect(definition).toBeDefined();
    expect(diagnostics).toEqual([
      {
        severity: "warning",
        file: expect.stringContaining(".md"),
        line: 4,
        code: "unknown_tool",
        message: expect.stringContaining(`"${field}" names "${tool}"`),
        tool,
        fix: `Did you mean "${meant}"?`,
      },
    ]);
  });

  it.each([
    ["disallowedTools: Baash(ls)", "disallowedTools", "Baash", "Bash"],
    ["disallowedTools: Read, Wrte", "disallowedTools", "Wrte", "Write"],
    ["permission: {Baash: deny}", "permission", "Baash", "Bash"],
    ["permission: {Baash: {'ls *': ask}}", "permission", "Baash", "Bash"],
    ["tools: {Read: true, wrte: false}", "tools", "wrte", "Write"],
  ])("prevent loading if a misspelled tool would not be withheld: %s", async (line, field, tool, meant) => {
    const { definition, diagnostics } = await read(`---\nname: a\ndescription: Does it.\n${line}\n---\n`);
    expect(definition).toBeUndefined();
    expect(diagnostics).toEqual([
      {
        severity: "error",
        file: expect.stringContaining(".md"),
        line: 4,
        code: "misspelled_tool",
        message: expect.stringContaining(`"${field}" names "${tool}", which is not a tool. The agent is not loaded`),
        fix: `Did you mean "${meant}"?`,
      },
    ]);
  });

  it("lose the opening quote of a value that has no closing one", async () => {
    const { definition, diagnostics } = await read('---\nname: a\ndescription: "Finds names.\ntools: Read\n---\n');
    expect(definition).toMatchObject({ description: "Finds names.", tools: ["Read"] });
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "yaml_error", line: 3 }]);
  });

  it("accept aliases, patterns, MCP tools and tools of compatible programs", async () => {
    const tools = "read_file, mcp__db__query, mcp__db, Bash(git *), ToolSearch";
    const { diagnostics } = await read(`---\nname: a\ndescription: Does it.\ntools: ${tools}\n---\n`);
    expect(diagnostics).toEqual([]);
  });

  it("keep the order of compact rules", async () => {
    const { definition } = await withFields(
      'permission:\n  "*": ask\n  edit: deny\n  bash:\n    "git *": allow\n    "git push *": ask',
    );
    expect(definition?.permission).toEqual([
      { tool: "*", effect: "ask" },
      { tool: "edit", effect: "deny" },
      { tool: "bash", pattern: "git *", effect: "allow" },
      { tool: "bash", pattern: "git push *", effect: "ask" },
    ]);
  });

  it("do not include mode, hooks and servers in a plugin's agent", async () => {
    const { definition, codes } = await withFields(
      "permissionMode: acceptEdits\nhooks: {Stop: [{command: x}]}\nmcpServers: [db]",
      "plugin",
    );
    expect(Object.keys(definition ?? {}).sort()).toEqual(["description", "file", "name", "source"]);
    expect(codes).toEqual(Array(3).fill("warning ignored_in_plugin"));
  });
});

describe("fields", () => {
  it.each([
    ["agentType: b", { name: "a" }],
    ["model: opus\neffort: xhigh", { model: "opus", effort: "xhigh" }],
    ["max-turns: 12", { maxTurns: 12 }],
    ['steps: "7"', { maxTurns: 7 }],
    ["max_iteration_per_run: 9", { maxTurns: 9 }],
    ["timeout: 90", { timeoutMs: 90_000 }],
    ["timeout: 5m", { timeoutMs: 300_000 }],
    ["timeout_mins: 2", { timeoutMs: 120_000 }],
    ["budget: {tokens: 1000, usd: 0.5}", { budget: { tokens: 1000, usd: 0.5 } }],
    ["is_background: true", { background: true }],
    ["background: yes", { background: true }],
    ["skills: [/lint, docs]", { skills: ["lint", "docs"] }],
    ["skills: lint, docs", { skills: ["lint", "docs"] }],
    [
      "mcpServers: [db, {web: {command: x}}]",
      { mcpServers: [{ name: "db" }, { name: "web", config: { command: "x" } }] },
    ],
    ["mcp_servers:\n  web:\n    command: x", { mcpServers: [{ name: "web", config: { command: "x" } }] }],
    ["isolation-mode: worktree\nmemory: local", { isolation: "worktree", memory: "local" }],
    ["omitClaudeMd: true\nforkContext: false", { omitProjectContext: true, forkContext: false }],
    ["criticalSystemReminder_EXPERIMENTAL: careful", { criticalReminder: "careful" }],
    ["mode: primary", { hidden: true }],
    ["color: Orange", { color: "orange" }],
    ["mode: subagent\nhidden: true", { hidden: true }],
    ["model: [big, small]", { model: "big" }],
    ["acceptance: npm test\ncontext_tokens: 50000", { acceptance: "npm test", contextTokens: 50_000 }],
    [
      "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./check.sh\n          timeout: 5\n  Stop:\n    - command: ./end.sh",
      {
        hooks: [
          { event: "PreToolUse", matcher: "Bash", command: "./check.sh", timeoutSeconds: 5 },
          { event: "Stop", command: "./end.sh" },
        ],
      },
    ],
  ])("%j", async (frontmatter, expected) => {
    expect((await withFields(frontmatter)).definition).toMatchObject(expected);
  });

  it.each([
    "maxTurns: many",
    "maxTurns: -1",
    "timeout: soon",
    "color: [red]",
    "effort: ultra",
    "memory: cloud",
    "background: 3",
    "budget: 5",
    "isolation: remote",
    "mcpServers: 5",
    "skills: {a: b}",
  ])("are left out with a warning if invalid: %s", async (frontmatter) => {
    const { definition, diagnostics } = await withFields(frontmatter);
    expect(Object.keys(definition ?? {}).sort()).toEqual(["description", "file", "name", "source"]);
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "wrong_type", line: 4 }]);
  });

  it.each([
    ["teal", undefined],
    ['"#1B4D3E"', undefined],
    ["gren", 'Did you mean "green"?'],
    ["constructor", undefined],
  ])("do not include an unknown color, which is reported: %s", async (color, fix) => {
    const { definition, diagnostics } = await withFields(`color: ${color}`);
    expect(definition).not.toHaveProperty("color");
    const message = `The color "${color.replaceAll('"', "")}" is unknown, so the agent is shown without a color. Use red, blue, green, yellow, purple, orange, pink or cyan.`;
    expect(diagnostics).toMatchObject([{ severity: "notice", code: "unknown_color", line: 4, message }]);
    expect(diagnostics[0]?.fix).toBe(fix);
  });

  it("do not include hooks in other formats, which are reported", async () => {
    const { definition, codes, diagnostics } = await withFields(
      "hooks:\n  pre: echo a\n  PostTolUse: []\n  PreToolUse:\n    - {type: prompt, prompt: x}",
    );
    expect(definition?.hooks).toBeUndefined();
    expect(codes).toEqual(["warning foreign_hooks", "warning foreign_hooks", "warning foreign_hooks"]);
    expect(diagnostics[1]?.fix).toBe('Did you mean "PostToolUse"?');
  });

  it("can disable the agent", async () => {
    expect(await withFields("disable: true")).toMatchObject({ definition: undefined, codes: ["notice disabled"] });
    expect((await withFields("disable: false")).definition).toBeDefined();
    expect((await withFields("disable: perhaps")).definition).toBeUndefined();
  });
});
