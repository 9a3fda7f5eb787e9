import { readFileSync } from "node:fs";
import { join } from "node:path";
import { boundText, errorCode, parseJsonc } from "../../lib/index.ts";
import type { AgentDefinition } from "../../protocol/index.ts";
import { withoutSecrets } from "../settings/without-secrets.ts";

/** Returns true for the agent that explains Retinue. */
export function isGuide({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "retinue-guide";
}

/**
 * Adds the user's settings to the prompt of the guide, without keys and passwords. The guide can't read the files
 * themselves.
 */
export function guidePrompt(prompt: string, stateDirectory: string): string {
  const files = ["settings.json", "permissions.jsonc"].map((name) => settingsText(join(stateDirectory, name)));
  return `${prompt}\n\nThe user's own settings, with … in place of secret values:\n\n${files.join("\n\n")}`;
}

const MAX_CHARACTERS = 20_000;

function settingsText(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    return errorCode(error) === "ENOENT" ? `${file} does not exist.` : `${file} can't be read.`;
  }
  const parsed = parseJsonc(text);
  if ("error" in parsed) return `${file} is not valid: line ${parsed.error.line}: ${parsed.error.message}.`;
  const shown = JSON.stringify(withoutSecrets(parsed.value), null, 1);
  return `${file}:\n${boundText(shown, { maxCharacters: MAX_CHARACTERS }).text}`;
}
