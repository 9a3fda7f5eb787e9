import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const killShellSpec: ToolSpec = {
  declaration: {
    name: "KillShell",
    description: descriptions.killShell,
    inputSchema: {
      type: "object",
      properties: { shell_id: { type: "string" } },
      required: ["shell_id"],
    },
  },
  traits: { parallel: true, effects: true },
};
