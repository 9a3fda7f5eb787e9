import type { BuiltInAgent } from "./built-in-agent.ts";

export const generalPurpose: BuiltInAgent = {
  definition: {
    name: "general-purpose",
    source: "built-in",
    description: "Completes a task of several steps. Use when no other agent fits. Not for a single lookup.",
  },
  aliases: ["general"],
  prompt: () =>
    "Do exactly the task, by the code's conventions; prove changes by running them. Name places as path:line.",
};
