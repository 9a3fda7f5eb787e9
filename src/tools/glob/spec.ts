import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const globSpec: ToolSpec = {
  declaration: {
    name: "Glob",
    description: descriptions.glob,
    inputSchema: {
      type: "object",
      properties: { pattern: { type: "string", minLength: 1 }, path: { type: "string" } },
      required: ["pattern"],
    },
  },
  traits: { parallel: true, effects: false },
};
