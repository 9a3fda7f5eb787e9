import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const todoWriteSpec: ToolSpec = {
  declaration: {
    name: "TodoWrite",
    description: descriptions.todoWrite,
    inputSchema: {
      type: "object",
      properties: {
        todos: {
          type: "array",
          items: {
            type: "object",
            properties: {
              content: { type: "string" },
              status: { enum: ["pending", "in_progress", "completed"] },
            },
            required: ["content", "status"],
          },
        },
      },
      required: ["todos"],
    },
  },
  traits: { parallel: false, effects: false, momentary: true },
};
