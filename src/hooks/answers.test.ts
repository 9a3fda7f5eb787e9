import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Effect, type HookEvent, hookEvents } from "../protocol/index.ts";
import { foldAnswers, foldOutcomes, readAnswer, type SourcedAnswer } from "./answers.ts";

const name = 'the hook "./check.sh"';
const exit = (event: HookEvent, code: number, { stdout = "", stderr = "" } = {}) =>
  readAnswer(event, { ended: true, code, stdout, stderr }, name);
const says = (event: HookEvent, value: unknown) => exit(event, 0, { stdout: JSON.stringify(value) });

describe("an exit code", () => {
  it("0 lets the run continue, at every event", () => {
    for (const event of hookEvents) expect(exit(event, 0)).toEqual({});
  });

  it("2 blocks a call and keeps an agent running, with standard error as the message", () => {
    expect(exit("PreToolUse", 2, { stderr: "no\n" })).toEqual({ decision: "deny", reason: "no" });
    expect(exit("Stop", 2, { stderr: "tests fail" })).toEqual({ decision: "deny", reason: "tests fail" });
  });

  it("2 without output still has a reason", () => {
    expect(exit("PreToolUse", 2).reason).toContain("./check.sh");
  });

  it("other than 0 and 2 is an error before a call, and the call is not made", () => {
    const { decision, reason } = exit("PreToolUse", 127, { stderr: "not found" });
    expect(decision).toBe("deny");
    expect(reason).toMatch(/exited with code 127.*not found.*not made/s);
  });

  it.each([1, 2, 127])("%d after a call is reported to the model and decides nothing", (code) => {
    const { decision, context } = exit("PostToolUse", code, { stderr: "2 lint errors" });
    expect(decision).toBeUndefined();
    expect(context).toContain("2 lint errors");
  });

  it.each(["SubagentStart", "SubagentStop", "SessionStart", "UserPromptSubmit", "PermissionRequest"] as const)(
    "2 is a notice at %s",
    (event) => {
      expect(exit(event, 2, { stderr: "hm" })).toEqual({ notice: "hm" });
    },
  );

  it("1 at Stop is a notice, and the agent may end", () => {
    expect(exit("Stop", 1)).toEqual({ notice: expect.stringContaining("exited with code 1") });
  });
});

describe("a hook that could not be run", () => {
  const run = { ended: false, failure: "No such program." } as const;
  it("blocks a call, and tells the model and the user", () => {
    const { decision, reason, notice } = readAnswer("PreToolUse", run, name);
    expect(decision).toBe("deny");
    expect(reason).toContain("No such program.");
    expect(notice).toContain("No such program.");
  });

  it.each(hookEvents.filter((event) => event !== "PreToolUse"))("blocks nothing at %s", (event) => {
    expect(readAnswer(event, run, name).decision).toBeUndefined();
  });
});

describe("JSON on standard output", () => {
  it.each([
    [{ decision: "allow" }, { decision: "allow" }],
    [
      { decision: "approve", reason: "fine" },
      { decision: "allow", reason: "fine" },
    ],
    [
      { decision: "block", reason: "no" },
      { decision: "deny", reason: "no" },
    ],
    [
      { hookSpecificOutput: { permissionDecision: "ask", permissionDecisionReason: "sure?" } },
      { decision: "ask", reason: "sure?" },
    ],
    [{ decision: "allow", hookSpecificOutput: { permissionDecision: "deny" } }, { decision: "deny" }],
    [{ hookSpecificOutput: { permissionDecision: "defer" } }, { decision: "ask" }],
    [{ hookSpecificOutput: { updatedToolOutput: "only after a call" } }, {}],
    [{ hookSpecificOutput: { decision: "deny" } }, { decision: "deny" }],
    [{ decision: { behavior: "deny" } }, { decision: "deny" }],
    [{ decision: "" }, {}],
    [{ decision: null }, {}],
    [
      { continue: false, stopReason: "stop it" },
      { decision: "deny", reason: "stop it" },
    ],
    [{ hookSpecificOutput: { updatedInput: { command: "ls" } } }, { input: { command: "ls" } }],
    [{ hookSpecificOutput: { updatedInput: null } }, {}],
    [{ hookSpecificOutput: { additionalContext: "mind the gap" } }, { context: "mind the gap" }],
    [{ systemMessage: "seen" }, { notice: "seen" }],
    [
      { hookSpecificOutput: { decision: { behavior: "deny", message: "not now" } } },
      { decision: "deny", reason: "not now" },
    ],
  ])("%j", (value, expected) => {
    expect(says("PreToolUse", value)).toEqual(expected);
  });

  it.each([
    [{ decision: "perhaps" }, '"perhaps"'],
    [{ decision: "allow", hookSpecificOutput: { permissionDecision: "Allow" } }, '"Allow"'],
    [{ hookSpecificOutput: { permissionDecision: ["allow"] } }, '["allow"]'],
    [{ permissionDecision: true }, "true"],
    [{ decision: {} }, "{}"],
    [{ hookSpecificOutput: { decision: { behavior: 1 } } }, '{"behavior":1}'],
  ])("counts an unknown decision as deny, and says so: %j", (value, shown) => {
    const message = `The hook "./check.sh" returned the unknown decision ${shown}, which counts as deny. Use allow, deny, ask or defer.`;
    expect(says("PreToolUse", value)).toEqual({ decision: "deny", reason: message, notice: message });
    expect(says("PreToolUse", { ...value, reason: "why" })).toMatchObject({ decision: "deny", reason: "why" });
  });

  it.each([
    [{ updatedInput: "ls" }, '"ls"'],
    [{ hookSpecificOutput: { permissionDecision: "allow", updatedInput: ["ls"] } }, '["ls"]'],
    [{ hookSpecificOutput: { decision: { behavior: "allow", updatedInput: 1 } } }, "1"],
  ])("denies a call whose changed input can't be read, and says so: %j", (value, shown) => {
    const message = `The hook "./check.sh" returned ${shown} as updatedInput, which counts as deny. It must be an object.`;
    expect(says("PreToolUse", value)).toEqual({ decision: "deny", reason: message, notice: message });
  });

  it("never allows a call whose decision is not exactly allow or approve", () => {
    const place = fc.constantFrom("decision", "permissionDecision", "behavior");
    fc.assert(
      fc.property(place, fc.jsonValue(), fc.boolean(), (name, value, nested) => {
        const fields = name === "behavior" ? { decision: { behavior: value } } : { [name]: value };
        const { decision } = says("PreToolUse", nested ? { hookSpecificOutput: fields } : fields);
        const isNothing = name !== "behavior" && (value === null || value === "");
        if (value !== "allow" && value !== "approve") expect(decision).toBe(isNothing ? undefined : "deny");
      }),
    );
  });

  it("lets an agent stop with continue: false", () => {
    expect(says("Stop", { continue: false })).toEqual({});
    expect(says("Stop", { decision: "block", reason: "go on" })).toEqual({ decision: "deny", reason: "go on" });
  });

  it.each([
    ["masked", "masked"],
    ["", "(no output)"],
    [
      [
        { type: "text", text: "one" },
        { type: "image", data: "iVBOR" },
      ],
      "one\n[image]",
    ],
    [{ outcome: "ok", content: [{ type: "text", text: "masked" }] }, "masked"],
    [{ stdout: "out", stderr: "", interrupted: false }, "out"],
    [{ stdout: "out", stderr: "err" }, "out\nerr"],
    [{ files: 3 }, '{"files":3}'],
    [false, "false"],
  ])("replaces the result of a call: %j", (updatedToolOutput, output) => {
    expect(says("PostToolUse", { hookSpecificOutput: { updatedToolOutput } }).output).toBe(output);
    expect(says("PostToolUse", { hookSpecificOutput: { updatedMCPToolOutput: updatedToolOutput } }).output).toBe(
      output,
    );
  });

  it("gives the model the reason after a call", () => {
    expect(says("PostToolUse", { decision: "block", reason: "lint" }).context).toBe("lint");
  });

  it.each(["checked src/a.ts", "[INFO] checked", "[12:03] ok", "no decision: fine", "deny", "3"])(
    "is treated as plain text if it is not JSON, and becomes context if the event allows that: %s",
    (stdout) => {
      expect(exit("PreToolUse", 0, { stdout })).toEqual({});
      expect(exit("Stop", 0, { stdout })).toEqual({});
      expect(exit("SessionStart", 0, { stdout: `${stdout}\n` })).toEqual({ context: stdout });
      expect(exit("UserPromptSubmit", 0, { stdout })).toEqual({ context: stdout });
    },
  );

  it.each([
    '{"decision": "deny", oops',
    '{"decision": "deny"',
    "{'decision': 'deny'}",
    '[{"decision":"deny"}]',
    '["deny"]',
    "[1]",
    'checking...\n{"decision":"deny","reason":"x"}',
    'checking...\n{\n  "hookSpecificOutput": {\n    "permissionDecision": "deny"\n  }\n}',
    '{"decision":"deny"}\n{"decision":"allow"}',
    '{"decision":"deny"} done',
    'Result: {"Decision": "deny"}',
    '```json\n{"continue": false}\n```',
  ])("denies a call if it was meant as JSON but can't be read, and says so: %j", (stdout) => {
    const said = expect.stringMatching(
      /^The hook "\.\/check\.sh" returned output that looks like JSON .* one JSON object/,
    );
    for (const event of ["PreToolUse", "PermissionRequest"] as const)
      expect(exit(event, 0, { stdout })).toEqual({ decision: "deny", reason: said, notice: said });
    for (const event of ["PostToolUse", "Stop"] as const) expect(exit(event, 0, { stdout })).toEqual({ notice: said });
    expect(exit("UserPromptSubmit", 0, { stdout })).toEqual({ context: stdout, notice: said });
    expect(exit("SessionStart", 0, { stdout })).toEqual({ context: stdout });
  });

  it.each([
    [{ Decision: "deny" }, 'the unknown key "Decision" instead of "decision"'],
    [{ decison: "deny" }, 'the unknown key "decison" instead of "decision"'],
    [{ decision: "allow", permission_decision: "deny" }, 'the unknown key "permission_decision"'],
    [{ hook_specific_output: { permissionDecision: "deny" } }, 'the unknown key "hook_specific_output"'],
    [{ hookSpecificOutput: { permissionDecisions: "deny" } }, 'the unknown key "permissionDecisions"'],
    [{ hookSpecificOutput: { decision: { behaviour: "deny", behavior: "allow" } } }, 'the unknown key "behaviour"'],
    [{ hookSpecificOutput: { decision: { behavior: "allow", updated_input: {} } } }, 'the unknown key "updated_input"'],
    [{ hookSpecificOutput: "deny" }, '"deny" as hookSpecificOutput'],
    [{ hookSpecificOutput: [{ permissionDecision: "deny" }] }, "as hookSpecificOutput"],
    [{ continue: "false" }, '"false" as continue'],
    [{ Continue: false }, 'the unknown key "Continue"'],
    [{ hookSpecificOutput: { continue: false } }, '"continue" in the wrong place'],
    [{ behavior: "deny" }, '"behavior" in the wrong place'],
    [{ updated_input: { command: "ls" } }, 'the unknown key "updated_input" instead of "updatedInput"'],
  ])("denies a call if it has a key that would be ignored, and says so: %j", (value, shown) => {
    for (const event of ["PreToolUse", "PermissionRequest"] as const) {
      const { decision, notice, reason } = says(event, value);
      expect(decision).toBe("deny");
      expect(notice).toContain(shown);
      expect(notice).toContain(", which counts as deny.");
      expect(reason).toBe(notice);
    }
    const { decision, notice } = says("Stop", value);
    expect(decision).not.toBe("deny");
    expect(notice).toContain(shown);
    expect(notice).not.toContain("counts as deny");
  });

  it("may have keys that mean nothing here", () => {
    const known = {
      suppressOutput: true,
      hookSpecificOutput: { hookEventName: "PreToolUse" },
      async: true,
      log: ["x"],
    };
    for (const event of hookEvents) expect(says(event, known)).toEqual({});
  });

  it("is used only with exit code 0", () => {
    expect(exit("PreToolUse", 2, { stdout: '{"decision": "allow"}', stderr: "no" }).decision).toBe("deny");
  });

  it("has a limited length", () => {
    const { context = "" } = says("SessionStart", { additionalContext: "x".repeat(50_000) });
    expect(context.length).toBeLessThanOrEqual(10_000);
  });
});

const said = fc.record({
  source: fc.constantFrom("user", "project", "plugin"),
  answer: fc.record(
    {
      decision: fc.constantFrom("allow", "ask", "deny"),
      reason: fc.string(),
      context: fc.string(),
      notice: fc.string(),
    },
    { requiredKeys: [] },
  ),
}) as fc.Arbitrary<SourcedAnswer>;

const strictness = (decision: Effect | undefined): number => ["allow", "ask", "deny"].indexOf(decision ?? "");

it("lets the strictest decision win, in any order of configuration", () => {
  fc.assert(
    fc.property(fc.array(said), fc.array(said), (left, right) => {
      const both = foldAnswers([...left, ...right]).decision;
      expect(foldAnswers([...right, ...left]).decision).toBe(both);
      expect(strictness(both)).toBe(Math.max(...[left, right].map((each) => strictness(foldAnswers(each).decision))));
    }),
  );
});

it("treats an approval as the user's only if one of the user's hooks gave it", () => {
  fc.assert(
    fc.property(fc.array(said), (all) => {
      const { decision, allowedBy } = foldAnswers(all);
      const byUser = all.some(({ source, answer }) => source === "user" && answer.decision === "allow");
      expect(allowedBy === "user").toBe(decision === "allow" && byUser);
      if (decision !== "allow") expect(allowedBy).toBeUndefined();
    }),
  );
});

it("returns the reasons of the deciding hooks, the last changed input, and all contexts", () => {
  const outcome = foldAnswers([
    { source: "user", answer: { decision: "deny", reason: "first", context: "one", input: { a: 1 } } },
    { source: "user", answer: { decision: "allow", reason: "not this", notice: "look" } },
    { source: "user", answer: { decision: "deny", reason: "second", context: "two", input: { a: 2 } } },
    { source: "user", answer: {} },
  ]);
  expect(outcome).toEqual({
    ran: 4,
    decision: "deny",
    reason: "first\nsecond",
    input: { a: 2 },
    context: "one\ntwo",
    notices: ["look"],
  });
});

it("lets a denial or a question about one name of a path win, and an approval only for all names", () => {
  fc.assert(
    fc.property(fc.array(said), fc.array(said), (left, right) => {
      const outcomes = [foldAnswers(left), foldAnswers(right)];
      const decisions = outcomes.map(({ decision }) => decision);
      const { decision, allowedBy } = foldOutcomes(outcomes);
      const strictest = (["deny", "ask"] as const).find((effect) => decisions.includes(effect));
      expect(decision).toBe(strictest ?? (decisions.every((each) => each === "allow") ? "allow" : undefined));
      const byUser = outcomes.every((outcome) => outcome.allowedBy === "user");
      expect(allowedBy === "user").toBe(decision === "allow" && byUser);
      expect(foldOutcomes(outcomes.slice(0, 1))).toBe(outcomes[0]);
    }),
  );
});

it("does not repeat what hooks said about both names of a path", () => {
  const outcome = { ran: 1, decision: "ask", reason: "sure?", context: "mind", notices: ["look"] } as const;
  expect(foldOutcomes([outcome, outcome])).toEqual(outcome);
  expect(foldOutcomes([outcome, { ...outcome, decision: "deny", reason: "no", context: "more" }])).toEqual({
    ran: 1,
    decision: "deny",
    reason: "no",
    context: "mind\nmore",
    notices: ["look"],
  });
});
