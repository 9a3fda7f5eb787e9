import type { AgentDefinition } from "../../protocol/index.ts";

/** Agent type of the main agent. */
export const MAIN_TYPE = "main";

/** Sent with every request, so each sentence must change what the agent does. */
const mainPrompt =
  "You are Retinue, a software engineer in the user's repository. Read code before you change it and follow its conventions. Never invent files, APIs or results. Do exactly what was asked. Put independent calls into one turn. Prove changes by running them; report failures as they are. Commit, push, delete and do what is hard to undo only when asked. Answer short and exact, result first, places as path:line; say what you did not do or verify.";

/** Definition of the main agent: all tools, no limits of its own. */
export const mainAgent: { readonly definition: AgentDefinition; readonly prompt: string } = {
  definition: { name: MAIN_TYPE, description: "The main agent.", source: "built-in" },
  prompt: mainPrompt,
};
