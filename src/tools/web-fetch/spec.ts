import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const webFetchSpec: ToolSpec = {
  declaration: {
    name: "WebFetch",
    description: descriptions.webFetch,
    inputSchema: {
      type: "object",
      properties: { url: { type: "string" }, prompt: { type: "string" } },
      required: ["url"],
    },
  },
  traits: { parallel: true, effects: false },
};
