import type { SkillRunner, Skills, Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import { failed } from "../shared/failed.ts";

/** Returns the spec of the tool, which lists the available skills. */
export function skillSpec(skills: Skills): ToolSpec {
  return {
    declaration: {
      name: "Skill",
      description: `${descriptions.skill}\n\n${skills.list()}`,
      inputSchema: {
        type: "object",
        properties: {
          skill: { type: "string", description: "Name of the skill." },
          args: { type: "string", description: "What the skill should work on." },
        },
        required: ["skill"],
      },
    },
    traits: { parallel: true, effects: false, resumable: true },
  };
}

export interface SkillDependencies {
  readonly skills: Skills;
  /** Runs skills in a separate agent. If absent, the calling agent receives the text of every skill instead. */
  readonly runner?: SkillRunner | undefined;
}

export function createSkillTool(dependencies: SkillDependencies): Tool {
  return {
    ...skillSpec(dependencies.skills),
    ...dependencies.runner?.limits,
    run: (input, context) => useSkill(input, dependencies, context),
  };
}

async function useSkill(
  input: JsonObject,
  { skills, runner }: SkillDependencies,
  context: ToolContext,
): Promise<ToolOutput> {
  const loaded = await skills.load(input["skill"] as string);
  if (!loaded.ok) return failed(loaded.message);
  const { name, directory, fork } = loaded;
  // A rule may use the full name of a skill, while the call uses a short one.
  const { effect, reason } = await context.authorize({ kind: "skill", name });
  if (effect !== "allow") return failed(`The skill ${name} was not loaded. ${reason}`);
  const body = fillArguments(loaded.body, (input["args"] as string | undefined) ?? "").trim();
  const text = `Skill ${name}. Paths in it are relative to ${directory}, where you can Read its files.\n\n${body}`;
  const report = fork && (await runner?.run({ name, prompt: text, fork }, context));
  if (report !== undefined) return report;
  return { content: fork ? `${text}\n\n${followYourself}` : text, details: { skill: name, directory } };
}

const followYourself = "[This skill is written for a subagent, and you can't start one. Follow it yourself.]";

/** Replaces `$ARGUMENTS` with the arguments, or appends them. The arguments are inserted literally. */
export function fillArguments(body: string, args: string): string {
  const given = args.trim();
  let stands = false;
  const filled = body.replace(placeholder, () => {
    stands = true;
    return given;
  });
  return stands || given === "" ? filled : `${body.trimEnd()}\n\nArguments: ${given}`;
}

/** Matches `$ARGUMENTS`, but neither longer names with this prefix nor `$ARGUMENTS[0]`. */
const placeholder = /\$ARGUMENTS(?![\w[])/g;
