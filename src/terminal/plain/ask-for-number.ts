import { plural } from "../../lib/index.ts";
import type { App } from "../app.ts";
import type { Choice, PickerOptions } from "../parts/choice.ts";
import { span } from "../screen/row.ts";
import { cleanLine, wrap } from "../screen/text.ts";
import { askForText } from "./ask-for-text.ts";

/** Number of choices that are printed at once. */
const MAX_LISTED = 30;
/** If there are more choices, the user is told how to search them. */
const FEW = 5;

/**
 * Lets the user choose, for screen readers: prints the choices with their numbers, and asks for a number. Any other text
 * lists only the choices that contain it.
 */
export function askForNumber<Value>(app: App, options: PickerOptions<Value>): void {
  const { title, choices, detail = () => "", onChoose, onCancel } = options;
  let listed = choices;
  speak();
  askForText(app, {
    label: "Number: ",
    onText: (text) => {
      const chosen = /^\d+$/.test(text) ? listed[Number(text) - 1] : undefined;
      if (chosen === undefined) search(text);
      // The question is closed first, because the choice may lead to another one.
      else queueMicrotask(() => onChoose(chosen.value));
      return chosen !== undefined;
    },
    onCancel: () => {
      print(["Nothing was chosen."]);
      onCancel?.();
    },
  });

  function search(text: string): void {
    const found = choices.filter((choice) => sentence(choice).toLowerCase().includes(text.toLowerCase()));
    if (/^\d*$/.test(text) || found.length === 0) {
      print([text === "" || /^\d+$/.test(text) ? "" : `Nothing matches ${text}.`, instruction()]);
      return;
    }
    listed = found;
    speak();
  }

  function speak(): void {
    const shown = listed.slice(0, MAX_LISTED);
    const details = shown.map(({ value }) => detail(value));
    const isCommon = details.every((each) => each === details[0]);
    const more = listed.length - shown.length;
    print([
      title,
      ...(isCommon ? (details[0] ?? "").split("\n") : []),
      ...shown.flatMap((choice, index) => [
        `${index + 1}: ${sentence(choice)}`,
        ...(isCommon ? [] : (details[index] ?? "").split("\n")),
      ]),
      more > 0 ? `and ${plural(more, "more choice")}.` : "",
      instruction(),
    ]);
  }

  function instruction(): string {
    const search = choices.length > FEW ? " Type part of a name to list only what contains it." : "";
    const last = Math.min(listed.length, MAX_LISTED);
    return `Type a number from 1 to ${last} and press Enter.${search} Esc goes back.`;
  }

  function print(lines: readonly string[]): void {
    const rows = lines
      .filter((line) => line.trim() !== "")
      .flatMap((line) => wrap([span(cleanLine(line))], { columns: app.columns - 1 }));
    app.print([[], ...rows]);
  }
}

function sentence({ label, about = "", facts = "", isCurrent }: Choice<unknown>): string {
  return [label, about, facts, isCurrent ? "current" : ""]
    .filter((part) => part !== "")
    .map((part) => part.replace(/\.$/, ""))
    .join(", ");
}
