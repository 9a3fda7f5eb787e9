import { expect, it } from "vitest";
import { openSession } from "../../src/app/index.ts";
import type { Model } from "../../src/ports/index.ts";
import type { Head } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";
import { firstPrompt, newPlace, read, resultsIn, task } from "./delegation-place.ts";

async function coordinate(parts: Readonly<Record<string, readonly ScriptedStep[]>>, more = {}) {
  const at = newPlace();
  const cast = createCast(parts);
  const heads = new Map<string, Head>();
  const model: Model = {
    describe: cast.describe,
    call: (request, emit) => {
      const [part = ""] = firstPrompt(request.prompt.messages()).split(":");
      heads.set(part, request.prompt.head);
      return cast.call(request, emit);
    },
  };
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const session = await openSession({ coordinator: true, ...more, ...at, model, environment });
  const result = await session.prompt("MAIN: do it.").result;
  await session.close();
  const tools = (part: string) => heads.get(part)?.tools.map(({ name }) => name) ?? [];
  return { result, cast, tools, session, heads };
}

it("a coordinator has only delegation tools, while its agents have the session's tools", async () => {
  const { cast, tools, session, result } = await coordinate({
    MAIN: [{ calls: [read, task("CHILD: read the notes")] }, { text: "It says alpha." }],
    CHILD: [{ calls: [read] }, { text: "Alpha." }],
  });
  expect(result.outcome).toBe("succeeded");
  expect(tools("MAIN")).toEqual(["Task", "TaskOutput", "TaskStop", "SendMessage"]);
  expect(session.tools).toEqual(tools("MAIN"));
  expect(tools("CHILD")).toEqual(expect.arrayContaining(["Read", "Edit", "Bash", "Grep"]));
  expect(tools("CHILD")).not.toContain("Task");
  const [own, report] = resultsIn(cast.requests("MAIN")[1]);
  expect(own).toContain("Read");
  expect(own).not.toContain("alpha");
  expect(report).toContain("Alpha.");
  expect(resultsIn(cast.requests("CHILD")[1])[0]).toContain("alpha");
});

it("the session's rules apply to a coordinator's agents, whose acceptance checks can use the shell", async () => {
  const { cast } = await coordinate(
    {
      MAIN: [
        { calls: [task("CHILD: read the notes", { subagent_type: "Explore", acceptance: "pwd" })] },
        { text: "ok" },
      ],
      CHILD: [{ calls: [read] }, { text: "Denied." }],
    },
    { disallowedTools: ["Read(notes.txt)"] },
  );
  expect(resultsIn(cast.requests("CHILD")[1])[0]).toContain("Read(notes.txt)");
  expect(resultsIn(cast.requests("MAIN")[1])[0]).toContain("[verified: true (pwd)]");
});

it("a coordinator is told its role", async () => {
  const { heads } = await coordinate({ MAIN: [{ text: "ok" }] });
  expect(heads.get("MAIN")?.system).toContain("You are a coordinator.");
  // It has no tools to follow other advice with.
  expect(heads.get("MAIN")?.system).not.toMatch(/Read code|Run the tests/);
  const { heads: others } = await coordinate({ MAIN: [{ text: "ok" }] }, { systemPrompt: "You sell things." });
  expect(others.get("MAIN")?.system).toMatch(/^You sell things\.\n\nYou are a coordinator\./);
});

it.each([{ disallowedTools: ["Task"] }, { settings: { subagents: { maxDepth: 0 } } }])(
  "a coordinator is refused if there is no agent to delegate to: %o",
  async (more) => {
    await expect(coordinate({ MAIN: [] }, more)).rejects.toThrow(/coordinator can't delegate/);
  },
);
