import type { AgentDefinition } from "../protocol/index.ts";
import { mainPrompt } from "./main-prompt.ts";

/** Who works when nobody is named: every tool, no wish of its own. */
export const mainAgent: { readonly definition: AgentDefinition; readonly prompt: string } = {
  definition: { name: "main", description: "The main agent.", source: "built-in" },
  prompt: mainPrompt,
};
