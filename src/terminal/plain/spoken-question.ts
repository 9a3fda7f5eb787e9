import type { UserReply } from "../../protocol/index.ts";
import type { App, Layer } from "../app.ts";
import type { RequestLayerOptions } from "../parts/approval-layer.ts";
import { createLineInput } from "../parts/line-input.ts";
import { requestHead } from "../parts/request-rows.ts";
import { span, textOfRow } from "../screen/row.ts";
import { cleanLine, wrap } from "../screen/text.ts";

/** Asks the user an agent's questions, one after the other, for screen readers. They are answered with a line of text. */
export function createSpokenQuestion(app: App, options: RequestLayerOptions): Layer {
  const { question, by, waiting, onAnswer, onAside } = options;
  const { questions = [] } = question;
  const replies: UserReply[] = [];
  let line = createLineInput(LABEL);

  function speak(): void {
    const asked = questions[replies.length];
    if (asked === undefined) return;
    const head = requestHead(question, app.view, { columns: app.columns, waiting: waiting() });
    const several = asked.multiSelect ? "the numbers of one or more answers" : "the number of an answer";
    const sentences = [
      textOfRow(head).replace("?", "").trim(),
      `${asked.header}: ${asked.question}`,
      ...asked.options.map(({ label, description = "" }, index) => `${index + 1}: ${label}. ${description}`),
      `Type ${several} or your own words, and press Enter. If you enter nothing, the agent decides. Esc lets you write a prompt first.`,
    ];
    const rows = sentences.flatMap((each) => wrap([span(cleanLine(each))], { columns: app.columns - 1 }));
    app.print([[], ...rows]);
  }

  function reply(text: string): void {
    const { options: offered = [], multiSelect } = questions[replies.length] ?? {};
    const numbers = /^\d+(?:[\s,]+\d+)*$/.test(text) ? text.split(/[\s,]+/).map(Number) : [];
    const labels = numbers.flatMap((number) => offered[number - 1]?.label ?? []);
    const isNumbered = labels.length > 0 && labels.length === numbers.length && (multiSelect || labels.length === 1);
    if (numbers.length > 0 && !isNumbered) {
      app.say(`There is no such answer. Use a number from 1 to ${offered.length}.`);
      return;
    }
    replies.push(isNumbered ? labels : text === "" ? [] : [text]);
    if (replies.length < questions.length) {
      speak();
      return;
    }
    const isEmpty = replies.every((each) => each.length === 0);
    onAnswer(isEmpty ? { answer: "deny", by } : { answer: "allow", by, replies });
  }

  speak();
  return {
    keys: [],
    draw: ({ columns }) => line.draw(columns),
    key: (pressed) => {
      const result = pressed.kind === "key" && pressed.name === "tab" ? "back" : line.key(pressed);
      if (result === "back") onAside();
      if (result !== "done") return true;
      const text = line.text.trim();
      line = createLineInput(LABEL);
      app.print([[span(cleanLine(`  ${LABEL}${text}`))]]);
      reply(text);
      return true;
    },
  };
}

const LABEL = "Answer: ";
