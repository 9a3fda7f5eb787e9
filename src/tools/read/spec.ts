import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const readSpec: ToolSpec = {
  declaration: {
    name: "Read",
    description: descriptions.read,
    inputSchema: {
      type: "object",
      properties: {
        file_path: { type: "string" },
        offset: { type: "integer", minimum: 0 },
        limit: { type: "integer", minimum: 1 },
      },
      required: ["file_path"],
    },
  },
  traits: { parallel: true, effects: false, momentary: true },
};
