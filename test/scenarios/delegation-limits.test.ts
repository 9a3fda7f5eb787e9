import { describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { createApiServer, type RecordedRequest, type Reply } from "../../src/testing/index.ts";
import { newPlace, task } from "./delegation-place.ts";

interface TaskTool {
  readonly description: string;
  readonly input_schema: { readonly properties: { readonly subagent_type: { readonly enum?: readonly string[] } } };
}

const taskToolIn = ({ body }: RecordedRequest): TaskTool | undefined =>
  (body as { tools?: readonly ({ name: string } & TaskTool)[] }).tools?.find(({ name }) => name === "Task");

/** Returns the agent types that a request offers to its model: those in the list and those in the schema. */
function offeredIn(request: RecordedRequest | undefined): readonly string[] {
  const { description = "", input_schema: schema } = (request && taskToolIn(request)) ?? {};
  const listed = [...description.matchAll(/^- ([\w-]+): .*\(.*Tools: /gm)].map(([, name]) => name ?? "");
  expect(schema?.properties.subagent_type.enum).toEqual(listed);
  return listed;
}

/** Runs a main agent, or an agent below it, that calls Task for each of the types. */
async function walk(options: SessionOptions, types: readonly string[], below?: string) {
  const outcomes: string[] = [];
  const call = (type: string): Reply => ({
    content: [{ tool: "Task", input: task(`LEAF: ${type}`, { subagent_type: type }).input }],
  });
  const seen: RecordedRequest[] = [];
  const server = await createApiServer({
    script: (request) => {
      const { messages } = request.body as { messages: readonly { content: unknown }[] };
      const first = JSON.stringify(messages[0]?.content);
      if (first.includes("LEAF:")) return { content: "Looked." };
      if (below !== undefined && !first.includes("MIDDLE:"))
        return messages.length > 1
          ? { content: "Done." }
          : { content: [{ tool: "Task", input: task("MIDDLE: go", { subagent_type: below }).input }] };
      seen.push(request);
      const turn = (messages.length - 1) / 2;
      if (turn > 0) outcomes.push(JSON.stringify(messages.at(-1)?.content).includes("Looked.") ? "ran" : "refused");
      const type = types[turn];
      return type === undefined ? { content: "Done." } : call(type);
    },
  });
  try {
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
    const session = await openSession({ ...newPlace(), environment, permissionMode: "bypassPermissions", ...options });
    expect((await session.prompt("MAIN: do it.").result).outcome).toBe("succeeded");
    await session.close();
    return { offered: offeredIn(seen[0]), outcomes };
  } finally {
    await server.close();
  }
}

const types = ["Explore", "Plan", "general-purpose", "lead"];
const lead = (tools: readonly string[], more: object = {}) => ({
  lead: { description: "Leads. Use when much is to do.", prompt: "Lead.", tools, ...more },
});

describe("an agent that may start only some agents", () => {
  it.each<[readonly string[], readonly string[], readonly string[]]>([
    [
      ["Agent(Explore, Plan)", "Read"],
      ["Explore", "Plan"],
      ["ran", "ran", "refused", "refused"],
    ],
    [
      ["Read", "Task(Explore)", "Agent(lead)"],
      ["Explore", "lead"],
      ["ran", "refused", "refused", "ran"],
    ],
    [
      ["Agent(explore,plan)", "Read"],
      ["Explore", "Plan"],
      ["ran", "ran", "refused", "refused"],
    ],
    [["Agent( Pl* )", "Read"], ["Plan"], ["refused", "ran", "refused", "refused"]],
  ])("starts exactly these, and its model sees only them: tools %j", async (tools, offered, outcomes) => {
    const main = await walk({ agents: lead(tools), agent: "lead" }, types);
    expect(main).toEqual({ offered, outcomes });
    const settings = { subagents: { maxDepth: 3 } };
    expect(await walk({ agents: lead(tools), settings }, types, "lead")).toEqual({ offered, outcomes });
  });

  it("can also be limited by permission rules, from its definition and above it", async () => {
    const permission = { task: { "*": "deny", Explore: "allow", Plan: "allow" } };
    const agents = lead(["Task", "Read"], { permission });
    const outcomes = ["ran", "ran", "refused", "refused"];
    expect(await walk({ agents, agent: "lead" }, types)).toEqual({ offered: ["Explore", "Plan"], outcomes });
    const settings = { subagents: { maxDepth: 3 } };
    const limits = { disallowedTools: ["Agent(Explore, general-purpose)"], settings };
    expect(await walk({ agents, ...limits }, types, "lead")).toEqual({
      offered: ["Plan"],
      outcomes: ["refused", "ran", "refused", "refused"],
    });
  });

  it("keeps its list when the definitions are read again, and after a change of the model", async () => {
    const server = await createApiServer({ script: () => ({ content: "Done." }) });
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
    const agents = lead(["Agent(Explore, Plan)"]);
    const session = await openSession({ ...newPlace(), environment, agents, agent: "lead" });
    await session.prompt("One.").result;
    await session.setModel("small");
    await session.prompt("Two.").result;
    await session.close();
    await server.close();
    expect(server.requests.map(offeredIn)).toEqual([
      ["Explore", "Plan"],
      ["Explore", "Plan"],
    ]);
  });
});
