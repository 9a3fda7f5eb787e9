import { describeError } from "../../lib/index.ts";
import type { App } from "../app.ts";
import type { TerminalProgram } from "../program.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, wrap } from "../screen/text.ts";
import { openPicker } from "./picker.ts";

/** Asks whether to use the files in a directory that the user does not trust. */
export async function askForTrust(app: App, program: TerminalProgram): Promise<"open" | "leave"> {
  const found = await program.untrusted?.();
  if (found === undefined) return "open";
  const { cwd, files, settings, trust } = found;
  // Nothing is left out, so that no file can hide another one.
  const listed = (texts: readonly string[]): readonly Row[] =>
    texts.flatMap((text) =>
      wrap([span(cleanLine(text))], { columns: app.columns - 1, first: [span("    ")], others: [span("      ")] }),
    );
  app.print([
    [],
    [span("  Do you trust the files in "), span(cleanLine(cwd), "bold"), span("?")],
    [span("  They can tell agents what to do, and start programs:", "dim")],
    ...listed(files),
    ...(settings.length === 0 ? [] : [[span("  They set:", "dim")], ...listed(settings)]),
  ]);
  const choice = await new Promise<"trust" | "ignore" | "leave">((resolve) => {
    openPicker(app, {
      title: "Trust this directory?",
      choices: [
        { hotkey: "n", label: "No, work without these files", value: "ignore" },
        { hotkey: "y", label: "Yes, use them from now on", value: "trust" },
        { hotkey: "q", label: "Leave", value: "leave" },
      ],
      onChoose: resolve,
      onCancel: () => resolve("ignore"),
    });
  });
  if (choice === "leave") return "leave";
  try {
    if (choice === "trust") {
      await trust();
      app.say(`${cwd} is now trusted. To undo this: retinue trust remove`);
    }
  } catch (error) {
    app.say(describeError(error), "bad");
  }
  return "open";
}
