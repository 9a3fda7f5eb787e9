import type { ToolFace } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const readFace: ToolFace = {
  declaration: {
    name: "Read",
    description: descriptions.read,
    inputSchema: {
      type: "object",
      properties: {
        file_path: { type: "string" },
        offset: { type: "integer", minimum: 0, description: "first line, from 1" },
        limit: { type: "integer", minimum: 1, description: "number of lines" },
      },
      required: ["file_path"],
    },
  },
  traits: { parallel: true, effects: false, momentary: true },
};
