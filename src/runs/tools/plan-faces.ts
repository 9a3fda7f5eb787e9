import type { ToolFace } from "../../ports/index.ts";

const traits = { parallel: false, effects: false };

/** To plan before anything is changed; for sessions in which somebody can approve a plan. */
export const planFaces: readonly ToolFace[] = [
  {
    declaration: {
      name: "EnterPlanMode",
      description:
        "For work that is large, unclear or hard to undo: from here on you only look, until the user approves a plan.",
      inputSchema: { type: "object", properties: {} },
    },
    traits,
  },
  {
    declaration: {
      name: "ExitPlanMode",
      description: "Shows the user your plan. Once it is approved plan mode ends and you carry it out.",
      inputSchema: {
        type: "object",
        properties: {
          plan: { type: "string", minLength: 1, description: "what is changed, where, how it is checked" },
        },
        required: ["plan"],
      },
    },
    traits,
  },
];
