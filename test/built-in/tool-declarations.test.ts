import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openSession } from "../../src/app/index.ts";
import { createApiServer } from "../../src/testing/index.ts";
import { newPlace } from "../scenarios/delegation-place.ts";

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

it("every property of every tool has a description", async () => {
  const { cwd, home } = newPlace();
  mkdirSync(join(cwd, ".agents/skills/land"), { recursive: true });
  writeFileSync(join(cwd, ".agents/skills/land/SKILL.md"), "---\nname: land\ndescription: Lands it.\n---\nLand it.\n");
  const server = await createApiServer({ script: () => ({ content: "Done." }) });
  onTestFinished(() => server.close());
  const session = await openSession({
    cwd,
    home,
    trusted: true,
    interactive: true,
    agent: "main",
    model: "claude-sonnet-5-5",
    approvals: { ask: async () => ({ by: "a person", answer: "deny" }) },
    environment: { PATH: process.env["PATH"], HOME: home, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url },
  });
  await session.prompt("Begin.").result;
  await session.close();
  const [request] = server.requests;
  if (request === undefined) throw new Error("no request was sent");
  const { tools } = request.body as {
    readonly tools: readonly { readonly name: string; readonly input_schema: Schema }[];
  };
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["Skill", "WebSearch", "Task", "ExitPlanMode"]));
  expect(tools.flatMap(({ name, input_schema: schema }) => undescribed(schema, name))).toEqual([]);
});

/** Returns the paths of properties without a description. */
function undescribed(schema: Schema, path: string): readonly string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => [
    ...(each.description === undefined ? [`${path}.${name}`] : []),
    ...undescribed(each, `${path}.${name}`),
  ]);
  return schema.items === undefined ? own : [...own, ...undescribed(schema.items, `${path}[]`)];
}
