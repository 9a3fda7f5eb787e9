import type { Rule } from "../protocol/index.ts";
import { conduct } from "./main-prompt.ts";

export interface PromptParts {
  /** The definition's own words. */
  readonly prompt: string;
  readonly limits: readonly Rule[];
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: string;
}

/** The system text: the agent's own words first, then what holds for all, then what was given to it. */
export function composePrompt({ prompt, limits, skills, memory }: PromptParts): string {
  const parts = [
    prompt.trim(),
    conduct,
    ...(limits.length === 0 ? [] : [`Some of your tools do only this: ${limits.map(({ text }) => text).join(", ")}.`]),
    ...skills.map(({ name, text }) => `Skill ${name}\n\n${text.trim()}`),
    ...(memory === undefined ? [] : [`What you noted in earlier sessions\n\n${memory.trim()}`]),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}
