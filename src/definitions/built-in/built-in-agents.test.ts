import { describe, expect, it } from "vitest";
import { canonicalToolName, toolNames } from "../../protocol/index.ts";
import { lintAgent } from "../lint/lint-agent.ts";
import { type BuiltInChoice, builtInAgents } from "./built-in-agents.ts";
import type { BuiltInAgent } from "./standard-agents.ts";

const environment = { docsDirectory: "/package/docs", stateDirectory: "/home/ada/.retinue" };

function named(name: string, choice: BuiltInChoice = {}): BuiltInAgent {
  const found = builtInAgents(choice).find(({ definition }) => definition.name === name);
  if (found === undefined) throw new Error(`no built-in ${name}`);
  return found;
}

function names(choice: BuiltInChoice = {}): readonly string[] {
  return builtInAgents(choice).map(({ definition }) => definition.name);
}

describe("built-in agents", () => {
  it("always have the same names and order", () => {
    expect(names()).toEqual([
      "general-purpose",
      "Explore",
      "Plan",
      "Bash",
      "statusline-setup",
      "retinue-guide",
      "Verification",
    ]);
  });

  it("have the tools listed in the matrix", () => {
    const looking = ["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"];
    expect(named("general-purpose").definition.tools).toBeUndefined();
    expect(named("Explore").definition.tools).toEqual(looking);
    expect(named("Plan").definition.tools).toEqual(looking);
    expect(named("Bash").definition.tools).toEqual(["Bash"]);
    expect(named("statusline-setup").definition.tools).toEqual(["Read", "Edit"]);
    expect(named("retinue-guide").definition.tools).toEqual(["Glob", "Grep", "Read", "WebFetch", "WebSearch"]);
    expect(named("Verification").definition.tools).not.toContain("Task");
  });

  it("refer to every tool by its own name, never by an alias", () => {
    for (const { definition } of builtInAgents()) {
      for (const tool of definition.tools ?? []) expect(canonicalToolName(tool)).toBe(tool);
    }
  });

  it("match the specification", () => {
    expect(named("Explore").definition).toMatchObject({ model: "small", omitProjectContext: true });
    expect(named("Explore").definition.criticalReminder).toContain("read-only");
    expect(named("Plan").definition).toMatchObject({ model: "inherit" });
    // The plan must follow the project's instructions.
    expect(named("Plan").definition).not.toHaveProperty("omitProjectContext");
    expect(named("Bash").definition.model).toBe("inherit");
    expect(named("statusline-setup").definition).toMatchObject({ model: "medium", color: "orange" });
    expect(named("retinue-guide").definition).toMatchObject({ model: "small", permissionMode: "dontAsk" });
    expect(named("Verification").definition).toMatchObject({ model: "inherit", color: "red", background: true });
  });

  it("that are read-only say so in their prompts", () => {
    for (const name of ["Explore", "Plan"])
      expect(named(name).prompt(environment)).toMatch(/no tools that write files or run commands/);
  });

  it.each(["standard", "compact"] as const)("pass the same lint rules as other agents: %s", (profile) => {
    for (const { definition, prompt } of builtInAgents({ profile })) {
      expect(lintAgent({ definition, body: prompt(environment) })).toEqual([]);
      expect(toolNames).toEqual(expect.arrayContaining([...(definition.tools ?? [])]));
    }
  });

  it("are short: a description under 100 words, a prompt under 800", () => {
    for (const { definition, prompt } of builtInAgents()) {
      expect(definition.description.split(/\s+/).length).toBeLessThan(100);
      expect(prompt(environment).split(/\s+/).length).toBeLessThan(800);
    }
  });

  it("include a guide whose prompt names this installation's documentation and settings", () => {
    const prompt = named("retinue-guide").prompt(environment);
    expect(prompt).toContain("/package/docs");
    expect(prompt).toContain("settings in /home/ada/.retinue");
  });

  it("do not include the guide in a library, no matter how its entry point is spelled", () => {
    for (const entryPoint of ["sdk", "sdk-ts", "sdk-py", "sdk-cli"]) {
      expect(names({ entryPoint })).not.toContain("retinue-guide");
    }
    expect(names({ entryPoint: "cli" })).toContain("retinue-guide");
  });

  it("can be switched off by name or alias", () => {
    expect(names({ disabled: ["explore", "Bash", "claude-code-guide"] })).toEqual([
      "general-purpose",
      "Plan",
      "statusline-setup",
      "Verification",
    ]);
  });

  it("are reduced to two in the compact profile, with permission rules and hard limits", () => {
    const compact = { profile: "compact" } as const;
    expect(names(compact)).toEqual(["explore", "general"]);
    expect(named("explore", compact).definition).toMatchObject({ maxTurns: 15, timeoutMs: 300_000 });
    expect(named("explore", compact).definition.permission?.[0]).toEqual({ tool: "*", effect: "deny" });
    expect(named("general", compact).definition).toMatchObject({
      maxTurns: 20,
      permission: [{ tool: "*", effect: "allow" }],
    });
    expect(names({ ...compact, disabled: ["Explore"] })).toEqual(["general"]);
  });
});

describe("Verification's prompt", () => {
  const prompt = named("Verification").prompt(environment);

  it("lists both ways to fail and the usual excuses", () => {
    expect(prompt).toContain("Avoiding verification");
    expect(prompt).toContain("satisfied with the surface");
    expect(prompt.match(/^- ".*"/gm)?.length).toBeGreaterThanOrEqual(6);
  });

  it("ends with one of three verdicts, and never passes work that was not run", () => {
    for (const verdict of ["pass", "fail", "inconclusive"]) expect(prompt).toContain(`\nVERDICT: ${verdict}`);
    expect(prompt).toContain("if you ran nothing, it is never pass");
  });
});
