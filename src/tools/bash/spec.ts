import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const LONGEST_TIMEOUT = 600_000;

export const bashSpec: ToolSpec = {
  declaration: {
    name: "Bash",
    description: descriptions.bash,
    inputSchema: {
      type: "object",
      properties: {
        command: { type: "string" },
        timeout: { type: "integer", minimum: 1, maximum: LONGEST_TIMEOUT },
        description: { type: "string" },
        run_in_background: { type: "boolean" },
      },
      required: ["command"],
    },
  },
  untold: ["description"],
  traits: { parallel: false, effects: true },
};
