import { describe, expect, it } from "vitest";
import type { Effect, PermissionMode } from "../../protocol/index.ts";
import { checkRules } from "../rules/parse-rule.ts";
import { accesses } from "./accesses.ts";
import { decide } from "./decide.ts";

function effectOf(skill: unknown, rules: Readonly<Record<string, Effect>>, mode: PermissionMode = "default"): Effect {
  const policy = {
    mode,
    pool: ["Skill"],
    rules: Object.entries(rules).map(([text, effect]) => ({ text, effect, scope: "user" as const })),
    workspaceRoots: ["/w"],
    readableRoots: [],
  };
  const touched = accesses("Skill", { skill: skill as string });
  return decide({ toolName: "Skill", accesses: touched, resolved: [], policy }).effect;
}

describe("a skill", () => {
  it("can be loaded without a rule, in every mode", () => {
    for (const mode of ["default", "plan", "dontAsk"] as const) expect(effectOf("deploy", {}, mode)).toBe("allow");
  });

  it("can't be loaded without a name", () => {
    expect(effectOf(undefined, {})).toBe("deny");
    expect(effectOf(" / ", {})).toBe("deny");
  });
});

describe("a rule about a skill", () => {
  it.each<[string, string, boolean]>([
    ["deploy", "Skill(deploy)", true],
    ["/deploy", "Skill(deploy)", true],
    [" deploy ", "Skill(/Deploy)", true],
    ["deploy", "Skill(deploy *)", true],
    ["deploy", "Skill(deploy:*)", true],
    ["deploy-all", "Skill(deploy)", false],
    ["deploy-all", "Skill(deploy*)", true],
    ["kit:deploy", "Skill(kit:deploy)", true],
    ["kit:deploy", "Skill(kit:*)", true],
    ["other:deploy", "Skill(kit:*)", false],
    ["kit:deploy", "Skill(deploy)", true],
    ["kit:deploy", "Skill(*)", true],
    ["review", "Skill(deploy)", false],
  ])("applies to %j with %s: %s", (name, rule, covered) => {
    expect(effectOf(name, { [rule]: "deny" })).toBe(covered ? "deny" : "allow");
    expect(effectOf(name, { [rule]: "ask" })).toBe(covered ? "ask" : "allow");
  });

  it("does not override a rule for all skills, or affect other skills", () => {
    const rules = { Skill: "ask", "Skill(deploy)": "allow" } as const;
    expect(effectOf("deploy", rules)).toBe("ask");
    expect(effectOf("deploy", { "Skill(deploy)": "allow", "Skill(kit:deploy)": "deny" })).toBe("allow");
  });

  it("is valid", () => {
    expect(checkRules([{ text: "Skill(deploy)", effect: "allow", scope: "user" }])).toEqual([]);
  });
});
