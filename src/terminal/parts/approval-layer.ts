import { approvalText } from "../../client/index.ts";
import { isRecord, readExactly, showExactly } from "../../lib/index.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../protocol/index.ts";
import type { App, Drawing, Layer, Space } from "../app.ts";
import type { Key } from "../screen/keys.ts";
import { type Row, span } from "../screen/row.ts";
import { wrap } from "../screen/text.ts";
import { createLineInput, type LineInput } from "./line-input.ts";
import { type Choice, openPicker } from "./picker.ts";
import { requestHead, requestRows } from "./request-rows.ts";

export interface RequestLayerOptions {
  readonly question: ApprovalQuestion;
  /** Name of the user. */
  readonly by: string;
  /** Returns the number of requests that wait, including this one. */
  readonly waiting: () => number;
  readonly onAnswer: (answer: ApprovalAnswer) => void;
  /** Called when the user wants to write a prompt first. */
  readonly onAside: () => void;
}

/**
 * Asks the user about a call. All of it has to have been on the screen before it can be allowed, even if it is longer
 * than the screen.
 */
export function createApprovalLayer(app: App, options: RequestLayerOptions): Layer {
  const { by, waiting, onAnswer, onAside } = options;
  let { question } = options;
  let input: { readonly purpose: "deny" | "edit"; readonly line: LineInput } | undefined;
  let offset = 0;
  let hidden = 0;

  const isEdited = (): boolean => question.call.inputJson !== options.question.call.inputJson;
  const edited = (): Pick<ApprovalAnswer, "inputJson"> => (isEdited() ? { inputJson: question.call.inputJson } : {});
  const editable = (): { readonly field: string; readonly value: string } | undefined => {
    const { main } = approvalText(question.call);
    // The description of a task has no effect on what its agent does.
    return question.kind === "call" && main?.field !== "description" ? main : undefined;
  };
  const rules = (): readonly string[] => (isEdited() ? [] : question.always);

  function choose(key: string): void {
    const main = editable();
    if (key === "n") input = { purpose: "deny", line: createLineInput("Why? ") };
    else if (key === "e" && main !== undefined)
      input = { purpose: "edit", line: createLineInput("› ", showExactly(main.value)) };
    else if (hidden > 0) offset += hidden;
    else if (key === "y") onAnswer({ answer: "allow", by, ...edited() });
    else if (key === "a" && rules().length > 0) chooseRule();
  }

  function chooseRule(): void {
    const choices = rules().flatMap((rule): readonly Choice<NonNullable<ApprovalAnswer["always"]>>[] => [
      { label: showExactly(rule), about: "for this session", value: { rule, for: "session" } },
      { label: showExactly(rule), about: "for this project, saved", value: { rule, for: "project" } },
    ]);
    openPicker(app, {
      title: "Always allow",
      choices,
      onChoose: (always) => onAnswer({ answer: "allow", by, always }),
    });
  }

  function finishInput({ purpose, line }: NonNullable<typeof input>): void {
    input = undefined;
    const text = line.text.trim();
    if (purpose === "deny") {
      onAnswer({ answer: "deny", by, message: readExactly(text) || undefined });
      return;
    }
    const main = editable();
    if (main === undefined || text === "") return;
    const value = readExactly(line.text);
    const inputJson = withField(question.call.inputJson, main.field, value);
    question = { ...question, call: { ...question.call, inputJson } };
    // Text that looks different when it is shown exactly has to be confirmed.
    if (showExactly(value) === line.text) onAnswer({ answer: "allow", by, ...edited() });
  }

  function draw({ columns, rows }: Space): Drawing {
    const head = requestHead(question, app.view, { columns, waiting: waiting() });
    const foot = input?.line.draw(columns) ?? { rows: buttonRows(columns) };
    const body = requestRows(question, columns);
    const room = Math.max(1, rows - 2 - foot.rows.length);
    const isLong = body.length > room;
    const shownRows = isLong ? room - 1 : room;
    offset = Math.max(0, Math.min(offset, body.length - shownRows));
    const shown = body.slice(offset, offset + shownRows);
    hidden = Math.max(0, body.length - offset - shown.length);
    const more: readonly Row[] = isLong
      ? [[span(hidden > 0 ? `  ↓ ${hidden} more rows` : "  this is the end · ↑ scrolls back", "warn")]]
      : [];
    const above = [head, ...shown, ...more, []];
    return {
      rows: [...above, ...foot.rows],
      cursor: foot.cursor && { row: above.length + foot.cursor.row, column: foot.cursor.column },
    };
  }

  /** The rule that "always" would add is a part of its button. */
  function buttonRows(columns: number): readonly Row[] {
    const [rule, ...others] = rules();
    const always = rule === undefined ? "" : `always: ${showExactly(rule)}${others.length > 0 ? " …" : ""}`;
    const buttons: readonly (readonly [string, string])[] = [
      ["y", "allow once"],
      ...(always === "" ? [] : [["a", always] as const]),
      ...(editable() === undefined ? [] : [["e", "edit"] as const]),
      ["n", "deny…"],
    ];
    // A button is not broken between its words.
    const row = buttons.flatMap(([key, label]) => [
      span(key, "accent"),
      span(`\u00a0${label.replaceAll(" ", "\u00a0")}`),
      span("   "),
    ]);
    const rows = wrap(row, { columns: columns - 1, first: [span("  ")] });
    return rows.map((each) => each.map(({ text, style }) => span(text.replaceAll("\u00a0", " "), style)));
  }

  function key(pressed: Key, isAlone: boolean): boolean {
    if (input !== undefined) {
      const result = input.line.key(pressed);
      if (result === "done") finishInput(input);
      else if (result === "back") input = undefined;
      return true;
    }
    if (pressed.kind === "text" && isAlone && "yaen".includes(pressed.text)) choose(pressed.text);
    else if (pressed.kind !== "key") return pressed.text.length === 1 && isAlone;
    else if (pressed.name === "down" || pressed.name === "enter") offset += 1;
    else if (pressed.name === "up") offset -= 1;
    else if (pressed.name === "pagedown") offset += 10;
    else if (pressed.name === "pageup") offset -= 10;
    else if (["esc", "tab", "ctrl-c"].includes(pressed.name)) onAside();
    else return false;
    return true;
  }

  return {
    draw,
    key,
    get keys() {
      if (input?.purpose === "deny") return ["Enter denies", "Esc back", "the text goes to the model"];
      if (input?.purpose === "edit") return ["Enter allows it as edited", "Esc back", "\\u{…} and ↵ are read as shown"];
      return ["y a e n answer", "↑↓ scroll", "Esc write a prompt first"];
    },
  };
}

function withField(inputJson: string, field: string, value: string): string {
  const input: unknown = JSON.parse(inputJson);
  if (isRecord(input) && input[field] === value) return inputJson;
  return JSON.stringify({ ...(isRecord(input) ? input : {}), [field]: value });
}
