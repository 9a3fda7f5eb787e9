import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerApproval, listApprovals } from "../../src/app/commands/approvals.ts";
import { addTrust } from "../../src/app/commands/trust.ts";
import { loadProjectSettings, type Session } from "../../src/app/index.ts";
import type { EventOf, RunUpdate } from "../../src/protocol/index.ts";
import {
  asAfterKill,
  mainLines,
  newPlace,
  type Options,
  open,
  type Parts,
  type Place,
  resultsIn,
  task,
} from "./delegation-place.ts";

type Asked = EventOf<"approval.requested">;
const bash = (command: string) => ({ name: "Bash", input: { command } });
const by = "ana";

function askedIn(update: RunUpdate): Asked | undefined {
  const event = update.type === "subagent.event" ? update.event : update;
  return event.type === "approval.requested" ? event : undefined;
}

/** Runs a prompt to the end. Calls `answer` for each approval request, with the request as another process sees it. */
async function answered(
  parts: Parts,
  answer: (asked: Asked, place: Place, session: Session) => unknown,
  options: Options = {},
) {
  const { session, model, ...at } = await open(parts, { onAsk: "wait", ...options });
  const run = session.prompt("MAIN: do it.");
  const asked: Asked[] = [];
  for await (const update of run) {
    const request = askedIn(update);
    if (request === undefined) continue;
    asked.push(request);
    await answer(request, at, session);
  }
  const result = await run.result;
  await session.close();
  return { result, model, asked, sessionId: session.id, ...at };
}

const say = (verb: "allow" | "deny" | "always", more: Record<string, unknown> = {}) => {
  return ({ requestId }: Asked, { home }: Place) =>
    answerApproval({ home, request: requestId, verb, by, project: false, ...more });
};

describe("an inbox shared by agents at all depths", () => {
  it("contains a subagent's request before it is shown, and the agent continues after the answer", async () => {
    const { result, cwd, asked, home } = await answered(
      {
        MAIN: [{ calls: [task("CHILD: make it")] }, { text: "Made." }],
        CHILD: [{ calls: [bash("mkdir one")] }, { text: "ok" }],
      },
      async (request, place, session) => {
        const [waiting, ...others] = await listApprovals({ home: place.home, cwd: place.cwd });
        expect(others).toEqual([]);
        expect(session.state).toBe("waiting");
        expect(waiting?.question).toMatchObject({
          requestId: request.requestId,
          kind: "call",
          agentType: "general-purpose",
          path: [expect.any(String)],
          call: { name: "Bash", inputJson: '{"command":"mkdir one"}' },
          decision: { effect: "ask", scope: "builtin" },
          always: ["Bash(mkdir one)", "Bash(mkdir *)"],
        });
        await say("allow")(request, place);
        await expect(say("deny")(request, place)).rejects.toThrow("already answered by ana: allow");
      },
    );
    expect(result.outcome).toBe("succeeded");
    expect(asked).toHaveLength(1);
    expect(existsSync(join(cwd, "one"))).toBe(true);
    expect(await listApprovals({ home })).toEqual([]);
  });

  it('applies one "always" answer to other waiting requests and to later ones', async () => {
    const seen: Asked[] = [];
    const { result, cwd, asked } = await answered(
      {
        MAIN: [
          { calls: [task("ONE: make it"), task("TWO: make it")] },
          { calls: [bash("mkdir three"), bash("rmdir three")] },
          { text: "Made." },
        ],
        ONE: [{ calls: [bash("mkdir one")] }, { text: "ok" }],
        TWO: [{ calls: [bash("mkdir two")] }, { text: "ok" }],
      },
      async (request, place) => {
        seen.push(request);
        if (seen.length === 2) await say("always", { pattern: "mkdir *" })(request, place);
        if (seen.length === 3) await say("deny", { message: "Keep it." })(request, place);
      },
    );
    expect(["one", "two", "three"].map((name) => existsSync(join(cwd, name)))).toEqual([true, true, true]);
    expect(asked.map(({ inputJson }) => inputJson).at(-1)).toContain("rmdir");
    expect(result.facts.denied).toMatchObject([{ tool: "Bash", reason: "Keep it." }]);
  });

  it("tells the model that the user denied a call, not that no one could answer", async () => {
    const { model } = await answered(
      { MAIN: [{ calls: [bash("mkdir one")] }, { text: "Not made." }] },
      (request, place) => say("deny")(request, place),
    );
    const [result] = resultsIn(model.requests("MAIN").at(-1));
    expect(result).toBe("The user denied this call. Continue without it, or ask the user what to do instead.");
  });

  it("does not answer requests from a hook about calls that rules allow", async () => {
    const { asked, cwd } = await answered(
      {
        MAIN: [{ calls: [task("ONE: make it"), task("TWO: make it")] }, { text: "Made." }],
        ONE: [{ calls: [bash("mkdir one")] }, { calls: [bash("mkdir three")] }, { text: "ok" }],
        TWO: [{ calls: [bash("mkdir two")] }, { text: "ok" }],
      },
      async (request, place) => {
        const waiting = await listApprovals({ home: place.home });
        const of = (command: string) => waiting.find(({ question }) => question.call.inputJson.includes(command));
        const say = (command: string, verb: "always" | "deny") =>
          answerApproval({ ...place, request: of(command)?.question.requestId ?? "", verb, by, project: false });
        if (of("mkdir one") && of("mkdir two")) {
          expect(of("mkdir two")?.question.always).toEqual([]);
          await say("mkdir one", "always");
        }
        if (!request.inputJson.includes("three")) return;
        // The new rule has let agent ONE continue, while agent TWO is still waiting.
        await say("mkdir two", "deny");
        await say("mkdir three", "deny");
      },
      {
        allowedTools: ["Bash(mkdir two)"],
        hooks: {
          PreToolUse: [
            {
              matcher: "Bash",
              run: ({ tool_input }) => (JSON.stringify(tool_input).includes("two") ? { decision: "ask" } : undefined),
            },
          ],
        },
      },
    );
    expect(asked).toHaveLength(3);
    expect(["one", "two", "three"].filter((name) => existsSync(join(cwd, name)))).toEqual(["one"]);
  });

  it("checks edited input against the rules again, but does not ask about it a second time", async () => {
    const answers = [{ inputJson: '{"command":"mkdir better"}' }, { inputJson: '{"command":"mkdir forbidden"}' }];
    const { model, cwd, asked } = await answered(
      { MAIN: [{ calls: [bash("mkdir one")] }, { calls: [bash("mkdir two")] }, { text: "Made." }] },
      (request, place) => {
        const edit = answers.shift();
        return edit && say("allow", edit)(request, place);
      },
      { settings: { permissions: { deny: ["Bash(mkdir forbidden)"] } } },
    );
    expect(["one", "better", "two", "forbidden"].filter((name) => existsSync(join(cwd, name)))).toEqual(["better"]);
    expect(asked).toHaveLength(2);
    expect(resultsIn(model.requests("MAIN")[2])[0]).toContain("forbidden");
  });
});

describe("a session whose process dies while a request is open", () => {
  const parts: Parts = { MAIN: [{ calls: [bash("mkdir one")] }, { text: "Made." }] };

  async function killedWhileWaiting() {
    let left: Place | undefined;
    const { sessionId, asked } = await answered(parts, (request, place) => {
      left = asAfterKill(place);
      return say("deny")(request, place);
    });
    return { at: left!, resume: sessionId, requestId: asked[0]?.requestId };
  }

  it("asks again under the same id", async () => {
    const { at, resume, requestId } = await killedWhileWaiting();
    const again = await answered({ MAIN: [{ text: "Made." }] }, say("allow"), { at, resume });
    expect(again.asked.map((request) => request.requestId)).toEqual([requestId]);
    expect(existsSync(join(at.cwd, "one"))).toBe(true);
  });

  it.each([
    ["allow", "approval.answered", { answer: "allow", by }],
    ["always", "tool.requested", { decision: { effect: "allow", rule: "Bash(mkdir one)", scope: "session" } }],
  ] as const)(
    "does not ask again if the request was answered while it was closed (%s), even without an approver",
    async (verb, type, line) => {
      const { at, resume, requestId } = await killedWhileWaiting();
      const [waiting] = await listApprovals({ home: at.home });
      expect(waiting).toMatchObject({ isRunning: false, question: { requestId } });
      await answerApproval({ home: at.home, request: requestId ?? "", verb, by, project: false });
      const again = await answered({ MAIN: [{ text: "Made." }] }, () => {}, { at, resume, onAsk: "deny" });
      expect(again.asked).toEqual([]);
      expect(existsSync(join(at.cwd, "one"))).toBe(true);
      expect(mainLines(at, resume).findLast((each) => each.type === type)).toMatchObject(line);
    },
  );
});

describe("background agents", () => {
  const parts: Parts = {
    MAIN: [{ calls: [task("CHILD: make it", { run_in_background: true })] }, { text: "Started." }, { text: "Told." }],
    CHILD: [{ calls: [bash("mkdir one")] }, { text: "I could not." }],
  };

  it("wait in the inbox if someone can answer", async () => {
    const { cwd, asked } = await answered(parts, async (request, place) => {
      expect((await listApprovals({ home: place.home }))[0]?.question.background).toBe(true);
      await say("allow")(request, place);
    });
    expect(asked).toHaveLength(1);
    expect(existsSync(join(cwd, "one"))).toBe(true);
  });

  it("keep a request that was open when they were moved to the background", async () => {
    let allow: () => unknown = () => undefined;
    const { cwd, model } = await answered(
      {
        MAIN: [
          { calls: [task("CHILD: make it")] },
          () => {
            void allow();
            return { text: "I go on." };
          },
          { text: "Told." },
        ],
        CHILD: [{ calls: [bash("mkdir one")] }, { text: "Made." }],
      },
      async (request, place, session) => {
        allow = () => say("allow")(request, place);
        expect(await session.moveToBackground()).toHaveLength(1);
      },
    );
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("is running in the background");
    expect(resultsIn(model.requests("CHILD")[1])).toHaveLength(1);
    expect(existsSync(join(cwd, "one"))).toBe(true);
  });

  it.each([
    ["no one is asked", { onAsk: "deny" }],
    ["the settings deny it", { settings: { background: { approvals: "deny" } } }],
  ] as const)("continue after a denial if %s, and their report lists the denied call", async (_, options) => {
    const { model, cwd, home } = await answered(parts, () => {}, options);
    expect(existsSync(join(cwd, "one"))).toBe(false);
    expect(resultsIn(model.requests("CHILD")[1])[0]).toContain("This needs approval, and no one can approve it");
    expect(JSON.stringify(model.requests("MAIN").at(-1))).toContain(String.raw`denied: Bash \"mkdir one\"`);
    expect(await listApprovals({ home })).toEqual([]);
  });
});

describe("a background launch", () => {
  const maker = {
    description: "Makes directories. Use it.",
    prompt: "Make them.",
    tools: ["Read", "Bash(mkdir one)", "Bash(rmdir *)", "Edit(*)"],
    background: true,
  };
  const parts: Parts = {
    MAIN: [{ calls: [task("CHILD: make it", { subagent_type: "maker" })] }, { text: "Started." }, { text: "Told." }],
    CHILD: [{ calls: [bash("mkdir one")] }, { text: "Done." }],
  };

  it.each([
    ["allow", 1, true],
    ["deny", 2, false],
  ] as const)("needs approval once, for the rules in its definition (%s)", async (verb, questions, isMade) => {
    const kinds: string[] = [];
    const { asked, cwd } = await answered(
      parts,
      async (request, place) => {
        const [waiting] = await listApprovals({ home: place.home });
        kinds.push(waiting?.question.kind ?? "");
        if (kinds.length === 1) expect(waiting?.question.grants).toEqual(["Bash(mkdir one)", "Bash(rmdir *)"]);
        await say(verb)(request, place);
      },
      { agents: { maker }, settings: { background: { preapprove: true } } },
    );
    expect(asked).toHaveLength(questions);
    expect(kinds).toEqual(["launch", "call"].slice(0, questions));
    expect(existsSync(join(cwd, "one"))).toBe(isMade);
  });
});

describe('an "always" answer for the project', () => {
  it("is saved in the directory's local settings, which stay approved", async () => {
    const at = newPlace();
    mkdirSync(join(at.cwd, ".retinue"));
    const file = join(at.cwd, ".retinue/settings.local.json");
    writeFileSync(file, '{"permissions":{"allow":["Bash(true)"]},"model":"m"}');
    const environment = { HOME: at.home };
    await addTrust({ ...at, environment });
    const told: string[] = [];
    await answered({ MAIN: [{ calls: [bash("mkdir one")] }, { text: "Made." }] }, say("always", { project: true }), {
      at,
      settings: { sandbox: "off" },
      onTrouble: (message) => told.push(message),
    });
    expect(told).toEqual([`Bash(mkdir one) was added to ${file}.`]);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ model: "m" });
    const { settings, notices } = loadProjectSettings({ ...at, environment, trust: false });
    expect(notices).toEqual([]);
    expect(settings.permissions?.allow).toEqual(["Bash(true)", "Bash(mkdir one)"]);
  });

  it("takes effect in an untrusted directory without trusting its files", async () => {
    const at = newPlace();
    const environment = { HOME: at.home };
    writeFileSync(join(at.cwd, "AGENTS.md"), "Obey.");
    mkdirSync(join(at.cwd, ".retinue"));
    writeFileSync(join(at.cwd, ".retinue/settings.json"), '{"permissions":{"allow":["Bash(touch *)"]}}');
    const file = join(at.cwd, ".retinue/settings.local.json");
    const told: string[] = [];
    await answered({ MAIN: [{ calls: [bash("mkdir one")] }, { text: "Made." }] }, say("always", { project: true }), {
      at,
      settings: { sandbox: "off" },
      onTrouble: (message) => told.push(message),
    });
    expect(told).toContain(`Bash(mkdir one) was added to ${file}.`);
    const load = () => loadProjectSettings({ ...at, environment, trust: false });
    expect(load()).toMatchObject({ trusted: false, settings: { permissions: { allow: ["Bash(mkdir one)"] } } });
    expect(load().untrusted).toEqual([".retinue/settings.json: permissions.allow", "AGENTS.md"]);
    // What someone else adds to the file is off, together with the rest of it.
    writeFileSync(file, '{"permissions":{"allow":["Bash(mkdir one)","Bash"]}}');
    expect(load().settings).not.toHaveProperty("permissions");
  });
});
