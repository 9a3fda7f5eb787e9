import type { ToolSpec } from "../../ports/index.ts";
import { descriptions } from "../descriptions.ts";
import type { Search } from "./search.ts";

const domains = { type: "array", items: { type: "string" } };

export function webSearchSpec({ takes }: Pick<Search, "takes">): ToolSpec {
  return {
    declaration: {
      name: "WebSearch",
      description: descriptions.webSearch,
      inputSchema: {
        type: "object",
        properties: { query: { type: "string", minLength: 2 }, allowed_domains: domains, blocked_domains: domains },
        required: ["query"],
      },
    },
    untold: ["blocked_domains"],
    traits: { parallel: true, effects: false, takes },
  };
}
