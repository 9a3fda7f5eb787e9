import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const writeSpec: ToolSpec = {
  declaration: {
    name: "Write",
    description: descriptions.write,
    inputSchema: {
      type: "object",
      properties: { file_path: { type: "string" }, content: { type: "string" } },
      required: ["file_path", "content"],
    },
  },
  traits: { parallel: false, effects: true, prepares: true },
};
