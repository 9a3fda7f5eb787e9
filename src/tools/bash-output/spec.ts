import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const bashOutputSpec: ToolSpec = {
  declaration: {
    name: "BashOutput",
    description: descriptions.bashOutput,
    inputSchema: {
      type: "object",
      properties: { bash_id: { type: "string" }, filter: { type: "string" } },
      required: ["bash_id"],
    },
  },
  untold: ["filter"],
  traits: { parallel: true, effects: false },
};
