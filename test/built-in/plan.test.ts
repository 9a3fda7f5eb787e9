import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lastWords, performTask, toolNames } from "./perform-task.ts";

const files = { "src/cart.ts": "export const total = (prices: number[]) => prices.reduce((a, b) => a + b);\n" };

describe("Plan", () => {
  it("reads the code and returns a plan with the five requested parts", async () => {
    const { outcomes, result, head } = await performTask({
      agent: "Plan",
      say: "Plan: an empty cart must cost 0.",
      files,
      steps: [
        { calls: [{ name: "Read", input: { file_path: "src/cart.ts" } }] },
        { text: "1. Analysis ... 2. Steps ..." },
      ],
    });
    expect(outcomes).toEqual(["ok"]);
    expect(result.outcome).toBe("succeeded");
    const parts = ["Analysis", "Steps", "Risks", "Dependencies", "Key files"].map((part) =>
      head.system.indexOf(`${part}:`),
    );
    expect(parts.every((place) => place > 0)).toBe(true);
    expect([...parts].sort((left, right) => left - right)).toEqual(parts);
  });

  it("has Explore's tools", async () => {
    const done = await performTask({ agent: "plan", say: "Plan it.", files, steps: [{ text: "A plan." }] });
    expect(toolNames(done)).toEqual(["Read", "Grep", "Glob", "LS", "WebFetch"]);
    expect(done.head.userContext).toBe("");
  });

  it("can't carry out its plan, even if edits are accepted", async () => {
    const { outcomes, cwd } = await performTask({
      agent: "Plan",
      say: "Plan it and do it.",
      files,
      permissionMode: "acceptEdits",
      steps: [
        { calls: [{ name: "Read", input: { file_path: "src/cart.ts" } }] },
        { calls: [{ name: "Edit", input: { file_path: "src/cart.ts", old_string: "a + b", new_string: "a - b" } }] },
        { calls: [{ name: "Write", input: { file_path: "PLAN.md", content: "plan" } }] },
        { text: "Here is the plan." },
      ],
    });
    expect(outcomes[0]).toBe("ok");
    expect(outcomes.slice(1)).not.toContain("ok");
    expect(readFileSync(join(cwd, "src/cart.ts"), "utf8")).toBe(files["src/cart.ts"]);
    expect(existsSync(join(cwd, "PLAN.md"))).toBe(false);
  });

  it("runs nothing, not even read-only commands", async () => {
    const { outcomes } = await performTask({
      agent: "Plan",
      say: "What changed lately?",
      files,
      steps: [{ calls: [{ name: "Bash", input: { command: "git log" } }] }, { text: "I have no shell." }],
    });
    expect(outcomes).not.toContain("ok");
  });

  it("is reminded on every turn that it only plans", async () => {
    const { requests } = await performTask({
      agent: "Plan",
      say: "Plan it.",
      files,
      steps: [{ calls: [{ name: "Glob", input: { pattern: "**/*.ts" } }] }, { text: "A plan." }],
    });
    expect(requests).toHaveLength(2);
    for (const request of requests) expect(lastWords(request)).toContain("Base every step of the plan on code");
  });
});
