import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { toolNamesOf } from "../../src/testing/index.ts";
import { createPlace, jsonLines, type Place, retinue, serve } from "./command-line.ts";

/** Creates a skill in the home directory of a user who has not trusted any directory. */
function withSkill(): Place {
  const place = createPlace();
  const file = join(place.home, "../.claude/skills/deploy/SKILL.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "---\ndescription: Ships it.\n---\nPush $ARGUMENTS.\n");
  return place;
}

it("the user's own skill is offered, and its text is returned, even if nothing is trusted", async () => {
  const place = withSkill();
  const server = await serve([
    { content: [{ tool: "Skill", input: { skill: "deploy", args: "web" } }] },
    { content: "Pushed." },
  ]);
  const ended = await retinue(["-p", "--output-format", "stream-json", "Ship it."], { ...place, server });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const [first, second] = server.requests;
  expect(toolNamesOf(first!)).toContain("Skill");
  expect(JSON.stringify(first!.body)).toContain("- deploy: Ships it.");
  expect(JSON.stringify(second!.body)).toContain("Push web.");
  expect(jsonLines(ended)[0]).toMatchObject({ subtype: "init", tools: expect.arrayContaining(["Skill"]) });
});

it("the request does not mention skills if there are none", async () => {
  const server = await serve([{ content: "Hello." }]);
  await retinue(["-p", "Hello?"], { ...createPlace(), server });
  expect(JSON.stringify(server.requests[0]!.body)).not.toContain("Skill");
});

it("a skill does not add the Skill tool to an agent whose tools do not include it", async () => {
  const server = await serve([{ content: "Hello." }]);
  await retinue(["-p", "--agent", "Explore", "Hello?"], { ...withSkill(), server });
  expect(toolNamesOf(server.requests[0]!)).not.toContain("Skill");
});
