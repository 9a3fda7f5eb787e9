import { approvalText } from "../../client/index.ts";
import { isRecord, readExactly, showExactly } from "../../lib/index.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../protocol/index.ts";
import type { App, Drawing, Layer, Space } from "../app.ts";
import type { Key } from "../screen/keys.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, cut, widthOf, wrap } from "../screen/text.ts";
import { fileChange } from "./change-rows.ts";
import type { Choice } from "./choice.ts";
import { createLineInput, type LineInput } from "./line-input.ts";
import { openPicker } from "./picker.ts";
import { requestHead, requestRows, spokenRequest } from "./request-rows.ts";

export interface RequestLayerOptions {
  readonly question: ApprovalQuestion;
  /** Unified diff of the change that the call would make, if it is known. */
  readonly diff?: string | undefined;
  /** The user's name. */
  readonly by: string;
  /** How the request can be answered, if this terminal can't answer it. */
  readonly elsewhere?: string | undefined;
  /** Returns whether the request has just appeared, so that no key answers it yet. */
  readonly isEarly: () => boolean;
  /** Returns the number of open requests, including this one. */
  readonly waiting: () => number;
  readonly onAnswer: (answer: ApprovalAnswer) => void;
  /** Called when the user wants to write a prompt first. */
  readonly onAside: () => void;
}

/** Minimum number of rows for the call. If fewer are available, only the call is shown. */
const FEWEST_ROWS = 3;
/** Maximum number of rows for text that the user writes. */
const MAX_INPUT_ROWS = 10;

/**
 * Asks the user about a call. A letter chooses an answer and Enter gives it, so that a word never answers: it begins a
 * prompt. The whole call must have been shown before it can be allowed, even if it is longer than the screen.
 */
export function createApprovalLayer(app: App, options: RequestLayerOptions): Layer {
  const { by, elsewhere, isEarly, waiting, onAnswer, onAside } = options;
  let { question, diff } = options;
  let input: { readonly purpose: "deny" | "edit"; readonly line: LineInput } | undefined;
  /** The answer that Enter gives. */
  let chosen: AnswerKey | undefined;
  let offset = 0;
  /** Number of rows that fit on the screen. */
  let page = 0;
  /** Number of the call's rows that have been on the screen, counted from the first, and the total number of rows. */
  let read = 0;
  let all = Number.POSITIVE_INFINITY;
  /** The rows of the call to which `read` applies, and what they show. */
  let drawn: (ShownCall & { readonly body: readonly Row[] }) | undefined;

  const isEdited = (): boolean => question.call.inputJson !== options.question.call.inputJson;
  const edited = (): Pick<ApprovalAnswer, "inputJson"> => (isEdited() ? { inputJson: question.call.inputJson } : {});
  const editable = (): { readonly field: string; readonly value: string } | undefined => {
    const change = fileChange(question.call);
    if (change !== undefined) return { field: change.fields.at(-1) ?? "", value: change.after };
    const { main } = approvalText(question.call);
    // The description of a task has no effect on what its agent does.
    return question.kind === "call" && main?.field !== "description" ? main : undefined;
  };
  const rules = (): readonly string[] => (isEdited() ? [] : question.always);
  const isRead = (): boolean => read >= all;

  /** Prints the whole request for a screen reader, instead of drawing it. */
  function speak(): void {
    app.print(spokenRequest(question, app.view, { columns: app.columns, diff, waiting: waiting() }));
    if (elsewhere !== undefined) app.say(elsewhere, "warn");
    [read, all] = [0, 0];
  }

  function give(answer: AnswerKey): void {
    const main = editable();
    chosen = undefined;
    if (answer === "n") input = { purpose: "deny", line: createLineInput("Why? ") };
    else if (answer === "y") onAnswer({ answer: "allow", by, ...edited() });
    else if (answer === "a") chooseRule();
    else if (main !== undefined && isLongText(main.value)) void editElsewhere(main.value);
    else if (main !== undefined) input = { purpose: "edit", line: createLineInput("› ", inLines(main.value)) };
  }

  /** Lets the user edit long text in another program. The call is shown again before it can be allowed. */
  async function editElsewhere(value: string): Promise<void> {
    const main = editable();
    const text = await app.editText(value, "call.txt");
    if (main === undefined || text === value) return;
    question = withInput(main.field, text);
    diff = undefined;
    diff = await app.host?.preview?.(question);
    if (app.isPlain) speak();
    app.redraw();
  }

  function isLongText(value: string): boolean {
    return fileChange(question.call) !== undefined && value.split("\n").length > 2 * MAX_INPUT_ROWS;
  }

  function withInput(field: string, value: string): ApprovalQuestion {
    return { ...question, call: { ...question.call, inputJson: withField(question.call.inputJson, field, value) } };
  }

  function chooseRule(): void {
    const choices = rules().flatMap((rule): readonly Choice<NonNullable<ApprovalAnswer["always"]>>[] => [
      { label: showExactly(rule), about: "for this session", value: { rule, for: "session" } },
      { label: showExactly(rule), about: "for this project, saved", value: { rule, for: "project" } },
    ]);
    openPicker(app, {
      title: "Always allow",
      choices,
      detail: ({ rule }) => (widthOf(showExactly(rule)) > SHOWN_RULE ? showExactly(rule) : ""),
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
    // If the text looks different once its misleading characters are escaped, the user must confirm the escaped form.
    // Text that was not shown must be read first.
    const isClear = inLines(value) === line.text && isRead();
    question = withInput(main.field, value);
    diff = undefined;
    if (isClear) onAnswer({ answer: "allow", by, ...edited() });
    else if (app.isPlain) speak();
  }

  function draw({ columns, rows, isCut = false }: Space): Drawing {
    const line = input?.line.draw(columns, Math.max(1, Math.min(MAX_INPUT_ROWS, Math.floor(rows / 2))));
    if (app.isPlain) return line ?? { rows: [] };
    const body = bodyRows({ inputJson: question.call.inputJson, diff, columns });
    const isTight = rows - 3 < FEWEST_ROWS;
    const head = isTight ? [] : [requestHead(question, app.view, { columns, waiting: waiting() })];
    const drawFoot = (): readonly Row[] => line?.rows ?? (isTight ? [] : footRows(columns));
    const blank: readonly Row[] = isTight ? [] : [[]];
    const room = Math.max(0, rows - head.length - blank.length - drawFoot().length);
    const isLong = body.length > room;
    page = isLong ? Math.max(0, room - 1) : room;
    all = body.length;
    // No row is skipped, no matter how quickly keys are pressed.
    offset = Math.max(0, Math.min(offset, read, all - page));
    const shown = body.slice(offset, offset + page);
    if (!isCut) read = Math.max(read, offset + shown.length);
    const more = isLong && room > 0 ? [[span(moreText(), "warn")]] : [];
    const above = [...head, ...shown, ...more, ...blank];
    return {
      // Which keys have an effect depends on what has been on the screen.
      rows: [...above, ...drawFoot()],
      cursor: line?.cursor && { row: above.length + line.cursor.row, column: line.cursor.column },
    };
  }

  /** Returns the rows of the call. If they have changed, they must be read again before the call can be allowed. */
  function bodyRows(now: ShownCall): readonly Row[] {
    const isSame = drawn?.inputJson === now.inputJson && drawn.diff === now.diff && drawn.columns === now.columns;
    if (drawn !== undefined && isSame) return drawn.body;
    read = 0;
    chosen = undefined;
    drawn = { ...now, body: requestRows(question, now) };
    return drawn.body;
  }

  function moreText(): string {
    const below = all - offset - page;
    if (below > 0) return `  ↓ ${below} more rows · ${isRead() ? "↓ scrolls" : "Space shows them"}`;
    return "  this is the end · ↑ scrolls back";
  }

  function footRows(columns: number): readonly Row[] {
    if (elsewhere === undefined) return [buttonRow(columns)];
    return wrap([span(cleanLine(elsewhere), "warn")], { columns: columns - 1, first: [span("  ")] });
  }

  /** Returns the keys that have an effect now, with their labels. The rule that "always" would add may be truncated. */
  function buttonRow(columns: number): Row {
    const [rule, ...others] = rules();
    const room =
      columns - 1 - widthOf("  y allow once   a always:    e edit   n deny…   ") - (others.length > 0 ? 2 : 0);
    const named = rule === undefined || room < FEWEST_RULE ? "" : `: ${cut(showExactly(rule), room)}`;
    return keysOf().flatMap((key, index) => {
      const always = `always${named}${named === "" || others.length > 0 ? " …" : ""}`;
      const label = key === "a" ? always : labels[key];
      const style = chosen === undefined ? undefined : chosen === key ? "bold" : "dim";
      return [span(index === 0 ? "  " : "   "), span(key, "accent"), span(` ${label}`, style)];
    });
  }

  function keysOf(): readonly AnswerKey[] {
    if (elsewhere !== undefined || isEarly()) return [];
    const others: readonly AnswerKey[] = [...(editable() ? ["e" as const] : []), "n"];
    if (!isRead()) return others;
    return ["y", ...(rules().length > 0 ? ["a" as const] : []), ...others];
  }

  function key(pressed: Key): boolean {
    if (input !== undefined) {
      const result = input.line.key(pressed);
      if (result === "done") finishInput(input);
      else if (result === "back") input = undefined;
      return true;
    }
    if (pressed.kind !== "key") return chooseByText(pressed);
    if (chosen !== undefined && pressed.name === "enter") give(chosen);
    else if (chosen !== undefined && ["esc", "backspace", "ctrl-c"].includes(pressed.name)) chosen = undefined;
    else if (pressed.name === "down" || pressed.name === "enter") offset += 1;
    else if (pressed.name === "up") offset -= 1;
    else if (pressed.name === "pagedown") offset += page;
    else if (pressed.name === "pageup") offset -= page;
    else if (["esc", "tab", "ctrl-c"].includes(pressed.name)) {
      app.type(chosen ?? "");
      onAside();
    } else return false;
    return true;
  }

  /** Handles text. Returns false if it belongs to a prompt, which then begins with the letter that was typed before. */
  function chooseByText({ kind, text }: Exclude<Key, { kind: "key" }>): boolean {
    const letter = kind === "paste" ? undefined : keysOf().find((each) => each === text);
    if (chosen === undefined && letter !== undefined) chosen = letter;
    // Several presses can arrive at once.
    else if (chosen === undefined && kind === "text" && /^ +$/.test(text)) offset += page;
    else {
      app.type(chosen ?? "");
      chosen = undefined;
      return false;
    }
    return true;
  }

  function spokenLabel(each: AnswerKey): string {
    return each === "a" ? `always allow ${showExactly(rules()[0] ?? "")}` : labels[each];
  }

  if (app.isPlain) speak();
  return {
    draw,
    key,
    get keys() {
      if (input?.purpose === "deny") return ["Enter denies", "Esc back", "the text goes to the model"];
      if (input?.purpose === "edit") return ["Enter allows it as edited", "Esc back", "Alt+Enter new line"];
      if (elsewhere !== undefined) return ["Esc back", "↑↓ scroll"];
      if (chosen !== undefined) return [`Enter ${effects[chosen]}`, "Esc back"];
      const aside = "Esc write a prompt first";
      const keys = keysOf();
      if (app.isPlain) return [...keys.map((each) => `${each} ${spokenLabel(each)}`), "Enter confirms", aside];
      const answer = keys.length > 0 ? [`${keys.join(" ")} and Enter answer`] : [];
      if (isRead()) return [...answer, aside, "↑↓ scroll"];
      return [page > 0 ? "Space shows more" : "Make the window larger to read it", ...answer, aside];
    },
    get typed() {
      return chosen;
    },
  };
}

interface ShownCall {
  readonly inputJson: string;
  readonly diff: string | undefined;
  readonly columns: number;
}

/** Allow once, always allow, edit, deny. */
const answerKeys = ["y", "a", "e", "n"] as const;
type AnswerKey = (typeof answerKeys)[number];

/** Returns whether text consists of nothing but a letter that answers a request. */
export function isAnswerKey(text: string): boolean {
  return answerKeys.some((key) => key === text);
}

const labels = { y: "allow once", e: "edit", n: "deny…" } as const;
const effects = { y: "allows it once", a: "shows the rules to choose from", e: "edits it", n: "denies it" } as const;

/** Number of columns for a rule in a list of choices. */
const SHOWN_RULE = 40;
/** Minimum number of columns for a rule. If fewer are available, the button does not name it. */
const FEWEST_RULE = 12;

/** Shows text exactly, but keeps its line breaks and indentation. */
function inLines(text: string): string {
  return text
    .split(/((?:^ +)|[\t\n]+ *)/)
    .map((part, index) => (index % 2 === 1 ? part : showExactly(part)))
    .join("");
}

function withField(inputJson: string, field: string, value: string): string {
  const input: unknown = JSON.parse(inputJson);
  if (isRecord(input) && input[field] === value) return inputJson;
  return JSON.stringify({ ...(isRecord(input) ? input : {}), [field]: value });
}
