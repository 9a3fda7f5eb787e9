import type { AgentDefinition } from "../../protocol/index.ts";

/** Returns true for the agent that explains Retinue. */
export function isGuide({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "retinue-guide";
}

/** Adds the user's settings to the guide's prompt, because the guide can't read the settings files. */
export function guidePrompt(prompt: string, settingsText: string): string {
  return `${prompt}\n\nThe user's own settings, with … in place of secret values:\n\n${settingsText}`;
}
