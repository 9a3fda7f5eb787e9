import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const notebookEditSpec: ToolSpec = {
  declaration: {
    name: "NotebookEdit",
    description: descriptions.notebookEdit,
    inputSchema: {
      type: "object",
      properties: {
        notebook_path: { type: "string" },
        cell_id: { type: "string" },
        new_source: { type: "string" },
        cell_type: { enum: ["code", "markdown"] },
        edit_mode: { enum: ["replace", "insert", "delete"] },
      },
      required: ["notebook_path"],
    },
  },
  traits: { parallel: false, effects: true, prepares: true },
};
