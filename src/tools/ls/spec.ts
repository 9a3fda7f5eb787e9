import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const lsSpec: ToolSpec = {
  declaration: {
    name: "LS",
    description: descriptions.ls,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string" },
        ignore: { type: "array", items: { type: "string" } },
      },
    },
  },
  untold: ["ignore"],
  traits: { parallel: true, effects: false, momentary: true },
};
