import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import type { JsonObject } from "../../src/protocol/index.ts";
import { createApiServer, type Script } from "../../src/testing/index.ts";
import { startCommandLine } from "../reliability/command-line.ts";
import { createPlace, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";

const places: Place[] = [];
afterAll(() => {
  for (const place of places) place.remove();
});

function newPlace(): Place {
  const place = createPlace();
  places.push(place);
  writeFileSync(join(place.cwd, "a.txt"), "alpha\n");
  return place;
}

const script: Script = {
  conversations: [
    {
      match: { firstUserContains: "MAIN:" },
      steps: [
        {
          reply: {
            content: [
              { tool: "Task", input: { description: "work", prompt: "CHILD: work", subagent_type: "general-purpose" } },
            ],
          },
        },
        { reply: { content: "All done." } },
      ],
    },
    {
      match: { firstUserContains: "CHILD:" },
      steps: [
        { reply: { content: [{ tool: "Read", input: { file_path: "a.txt" } }] } },
        { reply: { content: "Report." } },
      ],
    },
  ],
};

/** The child's first call waits in a hook until the process is killed. In later processes, the hook does not wait. */
const settings = {
  hooks: {
    SubagentStart: [{ command: "cat >> told.jsonl" }],
    SubagentStop: [{ command: "cat >> told.jsonl" }],
    PreToolUse: [{ matcher: "Read", command: "test -e begun || { touch begun; sleep 60; }" }],
  },
};

it("each reported start of an agent has exactly one reported end, even after a kill and two resumes", async () => {
  const place = newPlace();
  const told = (): unknown[][] => toldIn(place);
  writeFileSync(join(place.home, "settings.json"), JSON.stringify(settings));
  const server = await createApiServer({ script });
  try {
    const live = (...words: string[]) => startCommandLine({ place, url: server.url, args: ["-p", ...words] });
    const first = live("MAIN: go");
    while (!existsSync(join(place.cwd, "begun")) && first.child.exitCode === null) await wait(5);
    first.child.kill("SIGKILL");
    await first.ended;
    expect(told()).toEqual([["SubagentStart", undefined]]);
    const session = sessionIdOf(transcriptPath(place) ?? "");
    const second = await live("--resume", session).ended;
    expect(second, second.stderr).toMatchObject({ code: 0 });
    const pairs = [
      ["SubagentStart", undefined],
      ["SubagentStop", "process_lost"],
      ["SubagentStart", undefined],
      ["SubagentStop", "done"],
    ];
    expect(told()).toEqual(pairs);
    await live("--resume", session, "again").ended;
    expect(told()).toEqual(pairs);
  } finally {
    await server.close();
  }
});

it("a project's hooks run only in a trusted project", async () => {
  const place = newPlace();
  mkdirSync(join(place.cwd, ".claude"));
  const hooks = { PreToolUse: [{ matcher: "Read", hooks: [{ type: "command", command: "touch ran" }] }] };
  writeFileSync(join(place.cwd, ".claude/settings.json"), JSON.stringify({ hooks }));
  const read = { reply: { content: [{ tool: "Read", input: { file_path: "a.txt" } }] } };
  const steps = [read, { reply: { content: "Read." } }];
  const server = await createApiServer({ script: { conversations: [{ match: {}, steps: [...steps, ...steps] }] } });
  try {
    const live = (...words: string[]) =>
      startCommandLine({ place, url: server.url, args: ["-p", "MAIN: go", ...words] });
    const stranger = await live().ended;
    expect(stranger, stranger.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining("hooks") });
    expect(existsSync(join(place.cwd, "ran"))).toBe(false);
    const friend = await live("--trust").ended;
    expect(friend, friend.stderr).toMatchObject({ code: 0 });
    expect(existsSync(join(place.cwd, "ran"))).toBe(true);
  } finally {
    await server.close();
  }
});

function toldIn({ cwd }: Place): unknown[][] {
  return readFileSync(join(cwd, "told.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject)
    .map((each) => [each["hook_event_name"], each["reason"]]);
}
