import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDeferred } from "../../src/lib/index.ts";
import type { Approvals } from "../../src/ports/index.ts";
import { type ApprovalQuestion, type RunUpdate, textOf } from "../../src/protocol/index.ts";
import {
  asAfterKill,
  lastWords,
  mainLines,
  open,
  type Place,
  read,
  resultsIn,
  task,
  walk,
} from "./delegation-place.ts";

const enter = { name: "EnterPlanMode", input: {} };
const leave = { name: "ExitPlanMode", input: { plan: "Write made.txt." } };
const write = { name: "Write", input: { file_path: "made.txt", content: "made" } };
const shell = { name: "Bash", input: { command: "touch made.txt" } };
const done = { text: "Done." };
const made = ({ cwd }: Place): boolean => existsSync(join(cwd, "made.txt"));

/** Creates an approver that always gives the same answer, and records the questions. */
function person(answer: Omit<Awaited<ReturnType<Approvals["ask"]>>, "by">) {
  const asked: ApprovalQuestion[] = [];
  const approvals: Approvals = {
    ask: async (question) => {
      asked.push(question);
      return { by: "a person", ...answer };
    },
  };
  return { approvals, asked };
}

const ends = (updates: readonly RunUpdate[]) =>
  updates.flatMap((update) =>
    update.type === "tool.ended" ? [`${update.name} ${update.result.outcome}: ${textOf(update.result.content)}`] : [],
  );

describe("plan mode", () => {
  it("allows only reading until a user approves the plan; then the previous mode applies again", async () => {
    const { approvals, asked } = person({ answer: "allow" });
    const steps = [{ calls: [enter] }, { calls: [write, shell, read] }, { calls: [leave] }, { calls: [write] }, done];
    const walked = await walk({ MAIN: steps }, { approvals, permissionMode: "acceptEdits" });
    expect(ends(walked.updates)).toEqual([
      expect.stringMatching(/^EnterPlanMode ok/),
      expect.stringMatching(/^Write denied.*plan mode/),
      expect.stringMatching(/^Bash denied.*plan mode/),
      expect.stringMatching(/^Read ok/),
      expect.stringMatching(/^ExitPlanMode ok.*\nWrite made\.txt\.$/),
      expect.stringMatching(/^Write ok/),
    ]);
    expect(asked.map(({ call }) => call.name)).toEqual(["ExitPlanMode"]);
    expect(made(walked)).toBe(true);
  });

  it("continues if the plan is rejected, and the model is told why", async () => {
    const { approvals } = person({ answer: "deny", message: "Name the tests first." });
    const steps = [{ calls: [leave] }, { calls: [write] }, done];
    const walked = await walk({ MAIN: steps }, { approvals, permissionMode: "plan" });
    expect(resultsIn(walked.model.requests("MAIN")[1])[0]).toContain("Name the tests first.");
    expect(ends(walked.updates)[1]).toContain("Write denied");
    expect(made(walked)).toBe(false);
  });

  it("ends with the plan as edited by the user", async () => {
    const { approvals } = person({ answer: "allow", inputJson: '{"plan":"Write other.txt."}' });
    const walked = await walk({ MAIN: [{ calls: [leave] }, done] }, { approvals, permissionMode: "plan" });
    expect(ends(walked.updates)[0]).toContain("Write other.txt.");
  });

  it("applies to agents that are started during it, which can't leave it", async () => {
    const { approvals, asked } = person({ answer: "allow" });
    const child = [{ calls: [write, leave, enter] }, { text: "I could not." }];
    const steps = [{ calls: [enter] }, { calls: [task("CHILD: write it.")] }, done];
    const walked = await walk({ MAIN: steps, CHILD: child }, { approvals, permissionMode: "bypassPermissions" });
    const results = resultsIn(walked.model.requests("CHILD")[1]);
    expect(results[0]).toContain("plan mode");
    expect(results[1]).toContain("does not have the tool ExitPlanMode");
    expect(results[2]).toContain("does not have the tool EnterPlanMode");
    expect(asked).toEqual([]);
    expect(made(walked)).toBe(false);
  });

  it.each([
    ["begins to write", true],
    ["has asked whether it may write", false],
  ])("applies to a background agent that %s", async (_, waits) => {
    const planned = createDeferred<void>();
    const asked = createDeferred<void>();
    const approvals: Approvals = {
      ask: async () => {
        asked.resolve();
        await planned.promise;
        return { answer: "allow", by: "a person" };
      },
    };
    const background = task("CHILD: write it.", { run_in_background: true });
    const begun = () => {
      planned.resolve();
      return done;
    };
    const entering = waits ? { calls: [enter] } : { calls: [enter], after: asked.promise };
    const writing = waits ? { calls: [write], after: planned.promise } : { calls: [write] };
    const parts = {
      MAIN: [{ calls: [background] }, entering, begun, done],
      CHILD: [writing, { text: "I could not." }],
    };
    const walked = await walk(parts, { approvals, permissionMode: waits ? "acceptEdits" : "default" });
    expect(resultsIn(walked.model.requests("CHILD")[1])[0]).toContain("plan mode");
    expect(made(walked)).toBe(false);
  });

  it("survives a restart, and ends if the session is opened in another mode", async () => {
    const { approvals } = person({ answer: "allow" });
    const first = await open({ MAIN: [{ calls: [enter] }, done] }, { approvals, permissionMode: "acceptEdits" });
    await first.session.prompt("MAIN: plan it.").result;
    expect(first.session.permissionMode).toBe("plan");
    const at = asAfterKill(first);
    await first.session.close();
    const resume = first.session.id;
    const mode = "acceptEdits";

    const second = await open({ MAIN: [{ calls: [write] }, done] }, { at, approvals, resume });
    expect(second.session.permissionMode).toBe("plan");
    await second.session.prompt("MAIN: go on.").result;
    await second.session.close();
    expect(made(at)).toBe(false);

    const third = await open({ MAIN: [{ calls: [write] }, done] }, { at, approvals, resume, permissionMode: mode });
    await third.session.prompt("MAIN: go on.").result;
    await third.session.close();
    expect(third.model.requests("MAIN")[0]?.some((message) => textOf(message.content).includes("off"))).toBe(true);
    expect(made(at)).toBe(true);
    const modes = mainLines(at, resume).flatMap((line) => (line.type === "run.started" ? [line.permissionMode] : []));
    expect(modes).toEqual(["acceptEdits", "plan", "acceptEdits"]);
  });

  it("is replaced by the mode in the settings if the session began with it", async () => {
    const { approvals } = person({ answer: "allow" });
    const settings = { permissions: { defaultMode: "acceptEdits" as const } };
    const steps = [{ calls: [leave] }, { calls: [write] }, done];
    const walked = await walk({ MAIN: steps }, { approvals, settings, permissionMode: "plan" });
    expect(lastWords(walked.model.requests("MAIN")[0])).toContain("ExitPlanMode");
    expect(made(walked)).toBe(true);
  });
});

describe("the plan mode tools", () => {
  it("are available if someone can approve a plan; otherwise the answer is the plan", async () => {
    const { session, model } = await open({ MAIN: [{ calls: [leave] }, done] }, { permissionMode: "plan" });
    expect(session.tools).not.toContain("ExitPlanMode");
    await session.prompt("MAIN: plan it.").result;
    await session.close();
    expect(lastWords(model.requests("MAIN")[0])).toContain("Your answer is the plan");
    const names = ["EnterPlanMode", "ExitPlanMode"];
    const { approvals } = person({ answer: "allow" });
    for (const options of [{ interactive: true }, { onAsk: "wait" as const }, { approvals }]) {
      const other = await open({}, options);
      expect(other.session.tools).toEqual(expect.arrayContaining(names));
      await other.session.close();
    }
  });

  it("report an error, without an approval request, if there is nothing to enter or leave", async () => {
    const { approvals, asked } = person({ answer: "allow" });
    const walked = await walk(
      { MAIN: [{ calls: [leave] }, { calls: [enter] }, { calls: [enter] }, done] },
      { approvals },
    );
    expect(ends(walked.updates)).toEqual([
      "ExitPlanMode error: Plan mode is not on.",
      expect.stringMatching(/^EnterPlanMode ok/),
      "EnterPlanMode error: Plan mode is already on.",
    ]);
    expect(asked).toEqual([]);
  });

  it("need a user's approval to leave plan mode", async () => {
    const steps = [{ calls: [enter] }, { calls: [leave] }, { calls: [write] }, done];
    const { approvals, asked } = person({ answer: "deny" });
    const allowedTools = ["ExitPlanMode", "Write"];
    const walked = await walk({ MAIN: steps }, { approvals, allowedTools, permissionMode: "bypassPermissions" });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.always).toEqual([]);
    expect(ends(walked.updates)[1]).toContain("The plan was not approved");
    expect(made(walked)).toBe(false);
  });

  it("accept approval from a user's hook, but not from a project's", async () => {
    const entry = { command: `echo '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'` };
    const settings = { hooks: { PermissionRequest: [entry] } };
    const steps = [{ calls: [leave] }, done];
    const path = "hooks.PermissionRequest[0]";
    for (const [scope, outcome] of [
      ["user", "ok"],
      ["project", "denied"],
    ] as const) {
      const settingsOrigins = [{ path, scope, file: "settings.json", value: entry }];
      const walked = await walk({ MAIN: steps }, { settings, settingsOrigins, onAsk: "hook", permissionMode: "plan" });
      expect(ends(walked.updates)[0]).toContain(`ExitPlanMode ${outcome}`);
    }
  });
});
