import type { AgentDefinition } from "../protocol/index.ts";
import { mainPrompt } from "./main-prompt.ts";

/** What the main agent itself is called where agents have names. */
export const MAIN_TYPE = "main";

/** Who works when nobody is named: every tool, no wish of its own. */
export const mainAgent: { readonly definition: AgentDefinition; readonly prompt: string } = {
  definition: { name: MAIN_TYPE, description: "The main agent.", source: "built-in" },
  prompt: mainPrompt,
};
