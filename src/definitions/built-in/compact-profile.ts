import type { BuiltInAgent } from "./built-in-agent.ts";
import { explore } from "./explore.ts";
import { generalPurpose } from "./general-purpose.ts";

const FIVE_MINUTES = 300_000;

/** Limits of the compact profile for agents that set none. When the time is up, the agent ends with what it has. */
export const compactLimits = { maxTurns: 10, timeoutMs: FIVE_MINUTES } as const;

/** Two agents with compact rules instead of tool lists, for servers that run many short tasks. */
export const compactProfile: readonly BuiltInAgent[] = [
  {
    definition: {
      name: "explore",
      source: "built-in",
      description: explore.definition.description,
      permission: [
        { tool: "*", effect: "deny" },
        { tool: "grep", effect: "allow" },
        { tool: "glob", effect: "allow" },
        { tool: "list_dir", effect: "allow" },
        { tool: "read_file", effect: "allow" },
        { tool: "web_fetch", effect: "allow" },
        { tool: "web_search", effect: "allow" },
      ],
      maxTurns: 15,
      timeoutMs: FIVE_MINUTES,
    },
    aliases: ["Explore"],
    prompt: explore.prompt,
  },
  {
    definition: {
      name: "general",
      source: "built-in",
      description: generalPurpose.definition.description,
      permission: [{ tool: "*", effect: "allow" }],
      maxTurns: 20,
      timeoutMs: FIVE_MINUTES,
    },
    aliases: ["general-purpose"],
    prompt: generalPurpose.prompt,
  },
];
