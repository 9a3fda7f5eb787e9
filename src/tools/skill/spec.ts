import type { Skills, ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

/** Depends on the available skills, which it lists. */
export function skillSpec(skills: Skills): ToolSpec {
  return {
    declaration: {
      name: "Skill",
      description: `${descriptions.skill}\n\n${skills.list()}`,
      inputSchema: {
        type: "object",
        properties: { skill: { type: "string" }, args: { type: "string" } },
        required: ["skill"],
      },
    },
    traits: { parallel: true, effects: false },
  };
}
