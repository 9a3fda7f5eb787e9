import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { answerApproval, listApprovals } from "../../src/app/commands/approvals.ts";
import type { Approvals } from "../../src/ports/index.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../src/protocol/index.ts";
import { asAfterKill, mainLines, type Options, open, type Place, resultsIn, task, walk } from "./delegation-place.ts";

const questions = [
  {
    question: "Which package manager?",
    header: "Manager",
    options: [{ label: "npm", description: "Has a lock file here." }, { label: "pnpm" }],
  },
  {
    question: "Which checks run before a commit?",
    header: "Checks",
    options: [{ label: "lint" }, { label: "types" }, { label: "tests" }],
    multiSelect: true,
  },
];
const ask = { name: "AskUserQuestion", input: { questions } };
const done = { text: "Done." };
const steps = { MAIN: [{ calls: [ask] }, done] };

function program(answer: (question: ApprovalQuestion) => Omit<ApprovalAnswer, "by">) {
  const asked: ApprovalQuestion[] = [];
  const approvals: Approvals = {
    ask: async (question) => {
      asked.push(question);
      return { by: "program", ...answer(question) };
    },
  };
  return { approvals, asked };
}

describe("a question from the main agent", () => {
  it("reaches the program with its options, and the replies are journaled before they reach the model", async () => {
    const { approvals, asked } = program(() => ({
      answer: "allow",
      replies: [["npm"], ["lint", "and a spell check"]],
    }));
    const { model, updates, sessionId, ...place } = await walk(steps, { approvals });
    expect(asked).toMatchObject([{ kind: "question", questions, always: [], agentType: "main" }]);
    expect(resultsIn(model.requests("MAIN")[1])).toEqual([
      [
        "Which package manager?\nnpm",
        "Which checks run before a commit?\nlint\nand a spell check (in the user's own words)",
      ].join("\n\n"),
    ]);
    const types = mainLines(place, sessionId).map(({ type }) => type);
    const order = ["approval.requested", "approval.answered", "tool.started", "tool.ended"] as const;
    expect(types.filter((type) => order.some((each) => each === type))).toEqual(order);
  });

  it.each(["bypassPermissions", "plan"] as const)(
    "is asked in mode %s, even if rules allow everything",
    async (permissionMode) => {
      const { approvals, asked } = program(() => ({ answer: "allow", replies: [["npm"], ["lint"]] }));
      await walk(steps, { approvals, permissionMode, allowedTools: ["AskUserQuestion"] });
      expect(asked).toHaveLength(1);
    },
  );

  it.each([
    ["declines", { answer: "deny" }, "denied", /did not want to answer.*Decide yourself/],
    ["declines with a reason", { answer: "deny", message: "Later." }, "denied", /^Later\.$/],
    ["gives no reply", { answer: "allow" }, "ok", /not answered.*Decide yourself/],
    ["skips a question", { answer: "allow", replies: [["npm"], []] }, "ok", /npm\n\nWhich.*\n\(not answered\)$/],
    ["sends an invalid reply", { answer: "allow", replies: ["npm"] as never }, "denied", /replies/],
    ["sends too few replies", { answer: "allow", replies: [["npm"]] }, "denied", /asked 2 questions.*1 item/],
    ["chooses too much", { answer: "allow", replies: [["npm", "pnpm"], []] }, "denied", /allows only one answer/],
  ] as const)("lets the agent continue if the program %s", async (_, answer, outcome, text) => {
    const { approvals } = program(() => answer);
    const { model, updates, result } = await walk(steps, { approvals });
    expect(result.outcome).toBe("succeeded");
    expect(updates).toContainEqual(
      expect.objectContaining({ type: "tool.ended", result: expect.objectContaining({ outcome }) }),
    );
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(text);
  });

  it.each([
    ["no one can answer", {}],
    ["only hooks answer", { onAsk: "hook" }],
    ["the mode never asks", { onAsk: "wait", permissionMode: "dontAsk" }],
  ] as const)("can't be asked if %s, and a call returns advice", async (_, options: Options) => {
    const { model, updates, result, tools } = await walk(steps, options);
    expect(tools).not.toContain("AskUserQuestion");
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(/No one can answer.*Decide yourself.*say what you assumed/);
    expect(updates.map(({ type }) => type)).not.toContain("approval.requested");
    expect(result.outcome).toBe("succeeded");
  });

  it("is denied by a rule", async () => {
    const { approvals, asked } = program(() => ({ answer: "allow" }));
    const { tools } = await walk(steps, { approvals, disallowedTools: ["AskUserQuestion"] });
    expect(tools).not.toContain("AskUserQuestion");
    expect(asked).toEqual([]);
  });

  it.each(["PreToolUse", "PermissionRequest"])("is asked even if a %s hook allows it", async (event) => {
    const { approvals, asked } = program(() => ({ answer: "allow", replies: [["npm"], ["lint"]] }));
    const hooks = { [event]: [{ command: `echo '{"decision":"allow"}'` }] };
    const { model } = await walk(steps, { approvals, settings: { hooks } });
    expect(asked).toHaveLength(1);
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("npm");
  });

  it.each([
    [[], /at least 1/],
    [Array(5).fill(questions[0]), /at most 4/],
    [[{ ...questions[0], options: [{ label: "one" }] }], /at least 2/],
  ])("must be one of at most four, with at least two options (%#)", async (wrong, text) => {
    const { approvals, asked } = program(() => ({ answer: "allow" }));
    const call = { name: "AskUserQuestion", input: { questions: wrong } };
    const { model } = await walk({ MAIN: [{ calls: [call] }, done] }, { approvals });
    expect(asked).toEqual([]);
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(text);
  });
});

describe("a question in the inbox", () => {
  /** Starts a run and returns as soon as its question is in the inbox. */
  async function waiting(options: Options = {}) {
    const opened = await open(steps, { onAsk: "wait", ...options });
    const run = opened.session.prompt("MAIN: do it.");
    for await (const update of run) if (update.type === "approval.requested") break;
    const [request] = await listApprovals({ home: opened.home, cwd: opened.cwd });
    return { ...opened, run, request: request?.question };
  }

  /** Returns the id of the only request in a place. */
  const requestIn = async ({ home }: Place): Promise<string> =>
    (await listApprovals({ home }))[0]?.question.requestId ?? "";
  const reply = async (place: Place, replies: readonly string[]) =>
    answerApproval({
      home: place.home,
      request: await requestIn(place),
      verb: "reply",
      replies,
      by: "ana",
      project: false,
    });

  it("can be answered by another process, with numbers, labels or text", async () => {
    const { session, run, model, request, ...place } = await waiting();
    expect(request).toMatchObject({ kind: "question", questions });
    await expect(reply(place, ["1"])).rejects.toThrow("asked 2 questions");
    await expect(reply(place, ["1", " "])).rejects.toThrow("Which checks run before a commit?");
    const allow = { home: place.home, request: await requestIn(place), by: "ana", project: false };
    await expect(answerApproval({ ...allow, verb: "allow" })).rejects.toThrow("is a question");
    await expect(reply(place, ["7", "1"])).rejects.toMatchObject({
      message: expect.stringContaining('"7" is not an option for the question'),
      fix: "Use a number from 1 to 2, or answer in your own words.",
    });
    await expect(reply(place, ["1, 2", "1"])).rejects.toThrow('"1, 2" is not an option');
    await expect(reply(place, ["1", "2,9"])).rejects.toMatchObject({
      fix: "Use numbers from 1 to 3, separated by commas, or answer in your own words.",
    });
    const { answer } = await reply(place, ["1 or 2", "3,Lint"]);
    expect(answer.replies).toEqual([["1 or 2"], ["tests", "lint"]]);
    await run.result;
    await session.close();
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("manager?\n1 or 2 (in the user's own words)\n");
  });

  it("survives the end of the process: an answer that is given later is used when the session is resumed", async () => {
    const first = await waiting();
    const place = asAfterKill(first);
    first.run.stop("interrupted");
    await first.run.result;
    await first.session.close();
    await reply(place, ["pnpm", "types"]);
    const { session, model } = await open({ MAIN: [done] }, { at: place, resume: first.session.id, onAsk: "wait" });
    await session.prompt("").result;
    await session.close();
    expect(resultsIn(model.requests("MAIN")[0])[0]).toContain("pnpm\n\nWhich");
  });

  it("keeps the replies if the process died before it recorded the result", async () => {
    const { session, run, ...place } = await waiting();
    await reply(place, ["pnpm", "types"]);
    await run.result;
    await session.close();
    const path = session.transcriptPath ?? "";
    const lines = readFileSync(path, "utf8").split("\n");
    const started = lines.findIndex((line) => line.includes('"tool.started"'));
    const left = asAfterKill(place);
    writeFileSync(path.replace(place.home, left.home), `${lines.slice(0, started + 1).join("\n")}\n`);
    const resumed = await open({ MAIN: [done] }, { at: left, resume: session.id });
    await resumed.session.prompt("").result;
    await resumed.session.close();
    expect(resultsIn(resumed.model.requests("MAIN")[0])[0]).toContain("pnpm\n\nWhich");
  });
});

describe("a question from a subagent", () => {
  const parts = { MAIN: [{ calls: [task("CHILD: go")] }, done], CHILD: [{ calls: [ask] }, done] };

  it("is not asked by default", async () => {
    const { approvals, asked } = program(() => ({ answer: "allow" }));
    const { model } = await walk(parts, { approvals });
    expect(asked).toEqual([]);
    expect(resultsIn(model.requests("CHILD")[1])[0]).toContain("does not have the tool AskUserQuestion");
  });

  it("is asked in the foreground if subagents.allowQuestions allows it", async () => {
    const { approvals, asked } = program(() => ({ answer: "allow", replies: [["npm"], ["lint"]] }));
    const { model } = await walk(parts, { approvals, settings: { subagents: { allowQuestions: "foreground" } } });
    expect(asked).toMatchObject([{ kind: "question", agentType: "general-purpose" }]);
    expect(resultsIn(model.requests("CHILD")[1])[0]).toContain("npm");
  });
});
