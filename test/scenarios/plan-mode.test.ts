import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Session } from "../../src/app/index.ts";
import { agentOf, foldSession, newSessionView, type SessionView } from "../../src/client/index.ts";
import { createDeferred } from "../../src/lib/index.ts";
import type { Approvals } from "../../src/ports/index.ts";
import { type ApprovalQuestion, type PermissionMode, type RunUpdate, textOf } from "../../src/protocol/index.ts";
import {
  asAfterKill,
  lastWords,
  mainLines,
  open,
  type Place,
  promised,
  read,
  resultsIn,
  task,
  walk,
  watch,
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

  it.each([
    ["both", {}, "Unless the change is small, let Explore find the code, then have Plan design the change. Then call"],
    ["one", { settings: { permissions: { deny: ["Task(plan)"] } } }, "let Explore find the code. Then call"],
    ["none", { disallowedTools: ["Task"] }, "change nothing. Then call"],
    ["the compact profile's", { settings: { profile: "compact" } }, "let explore find the code. Then call"],
  ] as const)("has the agents prepare the plan that the main agent can start: %s", async (_, options, text) => {
    const { approvals } = person({ answer: "deny" });
    const byUser = await walk({ MAIN: [done] }, { approvals, permissionMode: "plan", ...options });
    expect(lastWords(byUser.model.requests("MAIN")[0])).toContain(text);
    const byAgent = await walk({ MAIN: [{ calls: [enter] }, done] }, { approvals, ...options });
    expect(resultsIn(byAgent.model.requests("MAIN")[1])[0]).toContain(text);
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

  it("is not replaced by a mode that the settings disable", async () => {
    const { approvals, asked } = person({ answer: "allow" });
    const settings = {
      permissions: { defaultMode: "bypassPermissions", disableBypassPermissionsMode: "disable" },
    } as const;
    const steps = [{ calls: [leave] }, { calls: [write] }, done];
    await walk({ MAIN: steps }, { approvals, settings, permissionMode: "plan" });
    expect(asked.map(({ call }) => call.name)).toEqual(["ExitPlanMode", "Write"]);
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

describe("the mode after plan mode", () => {
  const carriedOut = [{ calls: [leave] }, { calls: [write] }, done];
  const modeIn = (view: SessionView) => agentOf(view, "main")?.permissionMode;

  /** Shows what a session's clients show. */
  async function shownBy(session: Session): Promise<SessionView> {
    let view = newSessionView();
    for (const update of await watch(session).all) view = foldSession(view, update);
    return view;
  }

  it.each<[string, PermissionMode, readonly (PermissionMode | "prompt")[], PermissionMode]>([
    ["is not one that the user only passed through", "default", ["prompt", "acceptEdits", "plan"], "default"],
    ["is not one passed through before the first prompt", "default", ["acceptEdits", "plan"], "default"],
    ["is the one in which the last prompt was sent", "default", ["acceptEdits", "prompt", "plan"], "acceptEdits"],
    ["is the first one if no prompt was sent", "acceptEdits", ["plan"], "acceptEdits"],
    ["may be one that Shift+Tab does not offer", "bypassPermissions", ["acceptEdits", "plan"], "bypassPermissions"],
    ["may be stricter than the first one", "acceptEdits", ["default", "prompt", "acceptEdits", "plan"], "default"],
    ["stays the same if plan mode is left and entered again", "default", ["plan", "acceptEdits", "plan"], "default"],
    ["is not changed by prompts in plan mode", "default", ["acceptEdits", "plan", "prompt"], "default"],
  ])("%s: %s, %j", async (_, permissionMode, actions, expected) => {
    const { approvals, asked } = person({ answer: "allow" });
    const prompts = actions.filter((action) => action === "prompt").map(() => done);
    const { session } = await open({ MAIN: [...prompts, ...carriedOut] }, { approvals, permissionMode });
    const shown = shownBy(session);
    for (const action of actions) {
      if (action === "prompt") await session.prompt("MAIN: say something.").result;
      else await session.setPermissionMode(action);
    }
    expect(session.permissionMode).toBe("plan");
    await session.prompt("MAIN: present the plan.").result;
    expect(asked[0]?.decision.reason).toContain(`the permission mode is ${expected}: `);
    expect(session.permissionMode).toBe(expected);
    const isAsked = expected === "default";
    expect(asked.map(({ call }) => call.name)).toEqual(["ExitPlanMode", ...(isAsked ? ["Write"] : [])]);
    await session.close();
    expect(modeIn(await shown)).toBe(expected);
  });

  it.each([
    ["the mode allowed", write, "acceptEdits"],
    ["any mode would have allowed", read, "default"],
  ])("can be one that the user chose during a run, if a call was made that %s", async (_, call, expected) => {
    const { approvals } = person({ answer: "allow" });
    const { promise: changed, keep: change } = promised();
    const steps = [{ calls: [read] }, { calls: [call], after: changed }, done, ...carriedOut];
    const { session } = await open({ MAIN: steps }, { approvals });
    const run = session.prompt("MAIN: work.");
    await watch(session).until(({ event }) => event.type === "model.requested" && event.turn === 2);
    await session.setPermissionMode("acceptEdits");
    change();
    await run.result;
    await session.setPermissionMode("plan");
    await session.prompt("MAIN: present the plan.").result;
    expect(session.permissionMode).toBe(expected);
    await session.close();
  });

  it("is the current one if the agent itself enters plan mode", async () => {
    const { approvals } = person({ answer: "allow" });
    const { promise: changed, keep: change } = promised();
    const steps = [{ calls: [read] }, { calls: [enter], after: changed }, ...carriedOut];
    const { session } = await open({ MAIN: steps }, { approvals });
    const shown = shownBy(session);
    const watched = watch(session);
    const run = session.prompt("MAIN: plan and work.");
    await watched.until(({ event }) => event.type === "model.requested" && event.turn === 2);
    await session.setPermissionMode("acceptEdits");
    change();
    await watched.until(({ event }) => event.type === "plan.entered");
    await run.result;
    expect(session.permissionMode).toBe("acceptEdits");
    await session.close();
    expect(modeIn(await shown)).toBe("acceptEdits");
    const modes = watched.updates.reduce((view, update) => foldSession(view, update), newSessionView());
    expect(modeIn(modes)).toBe("acceptEdits");
  });

  it.each<[PermissionMode | undefined, PermissionMode]>([
    [undefined, "default"],
    ["acceptEdits", "acceptEdits"],
  ])(
    "survives a crash, but is not more permissive than the mode of the new process: %s",
    async (defaultMode, expected) => {
      const { approvals, asked } = person({ answer: "allow" });
      const first = await open({ MAIN: [done] }, { approvals, permissionMode: "acceptEdits" });
      await first.session.prompt("MAIN: say something.").result;
      await first.session.setPermissionMode("default");
      await first.session.setPermissionMode("plan");
      const at = asAfterKill(first);
      await first.session.close();
      const settings = { permissions: { defaultMode } };
      const resume = first.session.id;
      const second = await open({ MAIN: carriedOut }, { at, approvals, settings, resume });
      expect(second.session.permissionMode).toBe("plan");
      await second.session.prompt("MAIN: present the plan.").result;
      expect(asked[0]?.decision.reason).toContain(`the permission mode is ${expected}: `);
      expect(second.session.permissionMode).toBe(expected);
      await second.session.setPermissionMode("plan");
      await second.session.close();
      const entered = mainLines(at, resume).filter((line) => line.type === "plan.entered");
      expect(entered.map(({ afterPlan }) => afterPlan)).toEqual(["acceptEdits", expected]);
      expect(asked.map(({ call }) => call.name)).toEqual([
        "ExitPlanMode",
        ...(expected === "default" ? ["Write"] : []),
      ]);
    },
  );

  it("limits the agents that were started in a mode that the user only passed through", async () => {
    const { approvals, asked } = person({ answer: "allow" });
    const { promise: started, keep: start } = promised();
    const { promise: planned, keep: plan } = promised();
    const background = task("CHILD: write it.", { run_in_background: true });
    const steps = [
      { calls: [read] },
      { calls: [background], after: started },
      done,
      { calls: [leave] },
      () => {
        plan();
        return done;
      },
    ];
    const parts = { MAIN: steps, CHILD: [{ calls: [write], after: planned }, done] };
    const { session } = await open(parts, { approvals, interactive: true });
    const run = session.prompt("MAIN: work.");
    await watch(session).until(({ event }) => event.type === "model.requested" && event.turn === 2);
    await session.setPermissionMode("acceptEdits");
    start();
    await run.result;
    await session.setPermissionMode("plan");
    await session.prompt("MAIN: present the plan.").result;
    await expect.poll(() => asked.map(({ call }) => call.name)).toEqual(["ExitPlanMode", "Write"]);
    await session.close();
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

  it("do nothing, without an approval request, if there is nothing to enter or leave", async () => {
    const { approvals, asked } = person({ answer: "allow" });
    const walked = await walk(
      { MAIN: [{ calls: [leave] }, { calls: [enter] }, { calls: [enter] }, done] },
      { approvals },
    );
    expect(ends(walked.updates)).toEqual([
      "ExitPlanMode ok: Plan mode is off, and the permission mode is default.",
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

  it.each<PermissionMode>(["default", "acceptEdits"])(
    "no longer wait for approval of the plan if the user changes the mode instead: %s",
    async (mode) => {
      const asked: string[] = [];
      const approvals: Approvals = {
        ask: async ({ call }, signal) => {
          asked.push(call.name);
          if (call.name === "ExitPlanMode") await once(signal, "abort");
          return { answer: "deny", by: "a person" };
        },
      };
      const { session } = await open(
        { MAIN: [{ calls: [leave] }, { calls: [write] }, done] },
        { approvals, permissionMode: "plan" },
      );
      const watched = watch(session);
      const run = session.prompt("MAIN: present the plan.");
      await watched.until(({ event }) => event.type === "approval.requested");
      await session.setPermissionMode(mode);
      await run.result;
      await session.close();
      const results = watched.updates.flatMap(({ event }) =>
        event.type === "tool.ended" ? [textOf(event.result.content)] : [],
      );
      expect(results[0]).toBe(`Plan mode is off, and the permission mode is ${mode}.`);
      expect(asked).toEqual(["ExitPlanMode", ...(mode === "default" ? ["Write"] : [])]);
    },
  );

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
