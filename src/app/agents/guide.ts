import type { AgentDefinition } from "../../protocol/index.ts";

/** Returns true for the agent that explains Retinue. */
export function isGuide({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "retinue-guide";
}

/** Adds the user's settings to the prompt of the guide, which can't read the files themselves. */
export function guidePrompt(prompt: string, settingsText: string): string {
  return `${prompt}\n\nThe user's own settings, with … in place of secret values:\n\n${settingsText}`;
}
