import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

const flag = { type: "boolean" };
const count = { type: "integer", minimum: 0 };

export const grepSpec: ToolSpec = {
  declaration: {
    name: "Grep",
    description: descriptions.grep,
    inputSchema: {
      type: "object",
      properties: {
        pattern: { type: "string" },
        path: { type: "string" },
        glob: { type: "string" },
        type: { type: "string" },
        output_mode: { enum: ["content", "files_with_matches", "count"] },
        "-i": flag,
        "-n": flag,
        "-A": count,
        "-B": count,
        "-C": count,
        multiline: flag,
        head_limit: count,
      },
      required: ["pattern"],
    },
  },
  untold: ["-n", "-A", "-B"],
  traits: { parallel: true, effects: false },
};
