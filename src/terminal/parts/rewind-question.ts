import { plural, showExactly } from "../../lib/index.ts";
import type { PastPrompt } from "../../protocol/index.ts";
import type { App } from "../app.ts";
import { cut, preview } from "../screen/text.ts";
import { shownPrompt } from "../typed-prompt.ts";
import { openPicker } from "./picker.ts";

type RewindAnswer = "restore" | "keep" | "cancel";

/**
 * Shows which files would be restored by going back to a prompt and which commands' effects would stay, then asks the
 * user what to do. `prompts` contains that prompt and all later ones. Does not ask if nothing has changed since.
 */
export function askHowToRewind(app: App, prompts: readonly PastPrompt[]): Promise<RewindAnswer> {
  const files = [...new Set(prompts.flatMap((prompt) => prompt.files))];
  const commands = [...new Set(prompts.flatMap((prompt) => prompt.commands))];
  if (files.length === 0 && commands.length === 0) return Promise.resolve("restore");
  const name = cut(preview(shownPrompt(prompts[0]?.text ?? "")), MAX_NAME);
  const [it, is] = files.length === 1 ? ["the file", "it is"] : ["the files", "they are"];
  const stay = listed(commands, "The effects of this command will stay:", "The effects of these commands will stay:");
  return new Promise((resolve) => {
    openPicker<RewindAnswer>(app, {
      title: `Go back to “${name}”?`,
      choices: [
        ...(files.length === 0
          ? [{ hotkey: "g", label: "Go back", value: "restore" as const }]
          : [
              { hotkey: "r", label: `Go back and restore ${plural(files.length, "file")}`, value: "restore" as const },
              { hotkey: "k", label: `Go back and keep ${it} as ${is}`, value: "keep" as const },
            ]),
        { hotkey: "c", label: "Cancel", value: "cancel" },
      ],
      detail: (answer) => {
        const restored =
          answer === "restore"
            ? listed(files, "This file will be restored:", "These files will be restored:")
            : listed(files, "This file will not be restored:", "These files will not be restored:");
        return answer === "cancel" ? "" : [...restored, ...stay].join("\n");
      },
      onChoose: resolve,
      onCancel: () => resolve("cancel"),
    });
  });
}

/** Maximum number of columns for the prompt in the question. */
const MAX_NAME = 50;

function listed(texts: readonly string[], one: string, several: string): readonly string[] {
  return texts.length === 0
    ? []
    : [texts.length === 1 ? one : several, ...texts.map((text) => `  ${showExactly(text)}`)];
}
