import type { ToolFace } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";

export const webFetchSpec: ToolFace = {
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
