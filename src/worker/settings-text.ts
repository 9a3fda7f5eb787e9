import { readFileSync } from "node:fs";
import { join } from "node:path";
import { boundText, errorCode, parseJsonc } from "../lib/index.ts";
import { withoutSecrets } from "../settings/index.ts";

/** Returns the content of the user's own settings files, with … in place of keys and passwords. */
export function readSettingsText(stateDirectory: string): string {
  return ["settings.json", "permissions.jsonc"].map((name) => settingsText(join(stateDirectory, name))).join("\n\n");
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
  if ("error" in parsed) return `${file} is invalid: line ${parsed.error.line}: ${parsed.error.message}.`;
  const shown = JSON.stringify(withoutSecrets(parsed.value), null, 1);
  return `${file}:\n${boundText(shown, { maxCharacters: MAX_CHARACTERS }).text}`;
}
