import type { ToolFace } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const lsFace: ToolFace = {
  declaration: {
    name: "LS",
    description: descriptions.ls,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "default: the workspace" },
        ignore: { type: "array", items: { type: "string" }, description: "globs of names to leave out" },
      },
    },
  },
  traits: { parallel: true, effects: false, momentary: true },
};
