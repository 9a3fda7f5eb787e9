import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contextText, delegationList } from "../../definitions/index.ts";
import { type AgentDefinition, type Head, runtimeText, type ToolDeclaration } from "../../protocol/index.ts";
import { taskSpec } from "../tools/task-spec.ts";
import { headChanges } from "./head-changes.ts";

const agent = (name: string, description = `Does ${name}.`): AgentDefinition => ({
  name,
  description,
  source: "user",
  tools: ["Read"],
});

function taskWith(agents: readonly AgentDefinition[]): ToolDeclaration {
  return taskSpec({
    list: delegationList(agents, { toolsOf: () => ({ text: "Read", count: 1 }) }),
    background: true,
    parallel: true,
  }).declaration;
}

const tool = (name: string, more: Partial<ToolDeclaration> = {}): ToolDeclaration => ({
  name,
  description: `Uses ${name}.\nOften.`,
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
  ...more,
});

const file = (name: string, text: string) => ({ file: `/p/${name}`, source: "project", text, version: text }) as const;

function head({ files = [], ...parts }: Partial<Head> & { files?: readonly ReturnType<typeof file>[] } = {}): Head {
  return {
    provider: "p",
    model: "m",
    dialect: "anthropic",
    tools: [],
    system: "You test.",
    systemContext: "",
    userContext: contextText(files) ?? "",
    ...parts,
  };
}

/** Returns what a conversation is told if its head is `before` and a new conversation would have `now`. */
const told = (before: Head, now: Head) => headChanges({ declared: before, told: before, now });

describe("changes of a head", () => {
  it("are described for agents: new, changed and removed ones", () => {
    const before = head({ tools: [taskWith([agent("poet"), agent("singer"), agent("cook")])] });
    const now = head({ tools: [taskWith([agent("poet", "Does verse."), agent("dancer"), agent("cook")])] });
    expect(told(before, now).text).toBe(
      runtimeText(`The agents that Task can start have changed.
New agent:
- dancer: Does dancer. (Tools: Read)
Changed agent:
- poet: Does verse. (Tools: Read)
Removed: singer.
Task accepts new names, even if its declaration does not list them.`),
    );
  });

  it("do not include lines that are shorter because there are more agents", () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      agent(`helper-${index}`, `Helps with ${"work ".repeat(60)}.`),
    );
    const { text = "" } = told(
      head({ tools: [taskWith(many)] }),
      head({ tools: [taskWith([...many, agent("poet")])] }),
    );
    expect(text).toContain("New agent:\n- poet");
    expect(text).not.toMatch(/Changed|Removed|helper-/);
  });

  it("are described for tools: gone, back, new and changed ones", () => {
    const declared = head({ tools: [tool("A"), tool("B"), tool("C")] });
    const without = head({ tools: [tool("B"), tool("D")] });
    const first = headChanges({ declared, told: declared, now: without });
    expect(first.newTools).toEqual(["D"]);
    expect(first.text).toMatch(/no longer available, although they are still declared: A, C\./);
    expect(first.text).toMatch(/can't call until it is compacted: D\./);
    const schema = { type: "object", properties: { file: { type: "string" } }, required: ["file"] };
    const back = head({ tools: [tool("A"), tool("B", { description: "Uses B.\nSeldom.", inputSchema: schema })] });
    expect(headChanges({ declared, told: without, now: back })).toEqual({
      text: runtimeText(`These tools are available again: A.

The tool B has changed.
New:
Seldom.
These lines no longer apply:
Often.
New or changed input properties: {"file":{"type":"string"}}
Removed input properties: path.
Required input properties: ["file"].`),
      newTools: [],
    });
  });

  it("are described for instruction files and for instructions of MCP servers", () => {
    const server = (text: string) => `Instructions from the MCP server stock:\n${text}`;
    const before = head({ files: [file("AGENTS.md", "Tabs."), file("a.md", "A.")], systemContext: server("Count.") });
    const now = head({ files: [file("AGENTS.md", "Spaces."), file("b.md", "B.")], systemContext: server("Weigh.") });
    const { text = "" } = told(before, now);
    expect(text).toContain(`Instruction files have changed. These contents replace the earlier ones.

Contents of /p/AGENTS.md (the project's instructions):

Spaces.

Contents of /p/b.md (the project's instructions):

B.
These files were removed, and their instructions no longer apply: /p/a.md.`);
    expect(text).toContain(`${server("Weigh.")}`);
    expect(told(before, head({ files: [file("AGENTS.md", "Tabs."), file("a.md", "A.")] })).text).toBe(
      runtimeText("Other instructions have changed. These no longer apply: Instructions from the MCP server stock."),
    );
  });

  it("contain the whole system prompt if little of it is left, and otherwise its new and old lines", () => {
    const before = head({ system: "You test.\n\nBe kind to everyone.\nUse sugar." });
    expect(told(before, head({ system: "You test.\n\nBe kind to everyone.\nUse salt." })).text).toBe(
      runtimeText("Your system prompt has changed.\nNew:\nUse salt.\nThese lines no longer apply:\nUse sugar."),
    );
    expect(told(before, head({ system: "You cook." })).text).toBe(
      runtimeText("Your system prompt has been replaced. Follow this one from now on:\n\nYou cook."),
    );
  });
});

const line = fc.constantFrom("One.", "Two.", "- Three: four.", "Contents of /p/x (imported by y):", "\n", "");
const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n"));
const names = ["cook", "poet", "team:poet"];
const anyTool = fc.oneof(
  fc.record({
    name: fc.constantFrom("A", "B"),
    description: text,
    inputSchema: fc.constantFrom({ type: "object" }, { type: "object", properties: { a: {} }, required: ["a"] }),
  }),
  fc
    .array(fc.record({ name: fc.constantFrom(...names), description: text }), { maxLength: 3 })
    .map((agents) => taskWith(agents.map(({ name, description }) => agent(name, description)))),
);
const anyHead: fc.Arbitrary<Head> = fc.record({
  provider: fc.constant("p"),
  model: fc.constant("m"),
  dialect: fc.constant("anthropic" as const),
  effort: fc.constantFrom("low" as const, undefined),
  tools: fc.uniqueArray(anyTool, { selector: ({ name }) => name, maxLength: 3 }),
  system: text,
  systemContext: text,
  userContext: text,
});

describe("for any heads", () => {
  it("nothing is told about what the conversation already contains", () => {
    fc.assert(
      fc.property(anyHead, anyHead, (declared, now) => {
        expect(headChanges({ declared, told: now, now: { ...now, effort: "high" } })).toMatchObject({
          text: undefined,
        });
      }),
    );
  });

  it("every tool and every line of instructions that is new is told", () => {
    fc.assert(
      fc.property(anyHead, anyHead, (before, now) => {
        const { text: said = "", newTools } = told(before, now);
        const known = new Set(before.tools.map(({ name }) => name));
        expect(newTools).toEqual(now.tools.map(({ name }) => name).filter((name) => !known.has(name)));
        for (const part of ["system", "systemContext", "userContext"] as const)
          for (const each of now[part].split("\n"))
            if (!before[part].split("\n").includes(each)) expect(said).toContain(each.trim());
      }),
    );
  });
});
