import type { UserQuestion, UserReply } from "../../protocol/index.ts";
import type { App, Drawing, Layer, Space } from "../app.ts";
import type { Key } from "../screen/keys.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, wrap } from "../screen/text.ts";
import type { RequestLayerOptions } from "./approval-layer.ts";
import { createLineInput, type LineInput } from "./line-input.ts";
import { requestHead } from "./request-rows.ts";

/** Asks the user an agent's questions, one after the other. A question without an answer is left to the agent. */
export function createQuestionLayer(app: App, options: RequestLayerOptions): Layer {
  const { question, by, waiting, onAnswer, onAside } = options;
  const { questions = [] } = question;
  const replies: UserReply[] = [];
  let selected = 0;
  let chosen = new Set<number>();
  let input: LineInput | undefined;
  /** The number that has just selected an option. It begins the user's own answer if more text follows. */
  let digit = "";

  const asked = (): UserQuestion => questions[replies.length] ?? { question: "", header: "", options: [] };

  function reply(with_: UserReply): void {
    replies.push(with_);
    selected = 0;
    chosen = new Set();
    input = undefined;
    if (replies.length < questions.length) return;
    const isEmpty = replies.every((each) => each.length === 0);
    onAnswer(isEmpty ? { answer: "deny", by } : { answer: "allow", by, replies });
  }

  function toggle(index: number): void {
    if (!chosen.delete(index)) chosen.add(index);
  }

  /** Answers with the ticked options, or else with the selected one. Below the options are two more choices. */
  function confirm(): void {
    const { options: offered } = asked();
    if (selected === offered.length) input = createLineInput("› ");
    else if (selected > offered.length) reply([]);
    else if (chosen.size === 0) reply([offered[selected]?.label ?? ""]);
    else reply([...chosen].sort((left, right) => left - right).map((index) => offered[index]?.label ?? ""));
  }

  /** Selects an option by its number, and ticks it if several can be chosen. */
  function selectByNumber(typed: string): void {
    const { options: offered, multiSelect } = asked();
    selected = Number(typed) - 1;
    digit = typed;
    if (multiSelect && selected < offered.length) toggle(selected);
  }

  function draw({ columns, rows }: Space): Drawing {
    const { header, question: text, options: offered, multiSelect } = asked();
    const head = requestHead(question, app.view, { columns, waiting: waiting() });
    const count = questions.length > 1 ? ` (${replies.length + 1} of ${questions.length})` : "";
    const title = wrap([span(`${cleanLine(header)}${count}: `, "bold"), span(cleanLine(text))], {
      columns: columns - 1,
      first: [span("  ")],
    });
    const list = [...offered, { label: "something else…" }, { label: "let the agent decide" }].flatMap(
      ({ label, ...option }, index): readonly Row[] => {
        const isSelected = index === selected && input === undefined;
        const box = multiSelect && index < offered.length ? (chosen.has(index) ? "☑ " : "☐ ") : "";
        const about = "description" in option && option.description ? `  ${cleanLine(option.description)}` : "";
        return wrap([span(`${box}${cleanLine(label)}`, isSelected ? "bold" : undefined), span(about, "dim")], {
          columns: columns - 1,
          first: [span(isSelected ? "› " : "  ", "accent"), span(`${index + 1} `, "accent")],
        });
      },
    );
    const line = input?.draw(columns);
    const above = [head, ...title, ...list].slice(0, Math.max(1, rows - (line?.rows.length ?? 0)));
    return {
      rows: [...above, ...(line?.rows ?? [])],
      cursor: line?.cursor && { row: above.length + line.cursor.row, column: line.cursor.column },
    };
  }

  function key(pressed: Key): boolean {
    if (input !== undefined) {
      const result = input.key(pressed);
      if (result === "done") reply(input.text.trim() === "" ? [] : [input.text.trim()]);
      else if (result === "back") input = undefined;
      return true;
    }
    const { options: offered, multiSelect } = asked();
    const own = offered.length;
    const before = multiSelect ? "" : digit;
    digit = "";
    const isTyped = pressed.kind === "text" && before === "";
    if (isTyped && /^[1-9]$/.test(pressed.text) && Number(pressed.text) <= own + 2) selectByNumber(pressed.text);
    else if (isTyped && multiSelect && pressed.text === " " && selected < own) toggle(selected);
    // A word is the beginning of the user's own answer.
    else if (pressed.kind !== "key") input = createLineInput("› ", `${before}${pressed.text}`.trimStart());
    else if (pressed.name === "up") selected = Math.max(0, selected - 1);
    else if (pressed.name === "down") selected = Math.min(own + 1, selected + 1);
    else if (pressed.name === "enter") confirm();
    else if (["esc", "tab", "ctrl-c"].includes(pressed.name)) onAside();
    else return false;
    return true;
  }

  return {
    draw,
    key,
    get keys() {
      if (input !== undefined) return ["Enter answers", "Esc back"];
      const several = asked().multiSelect ? ["Space chooses several"] : [];
      return ["↑↓, a number or your own words", ...several, "Enter answers", "Esc write a prompt first"];
    },
  };
}
