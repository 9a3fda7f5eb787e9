import { type FormEvent, type ReactNode, useState } from "react";
import type { NewAnswer } from "../../client/index.ts";
import type { UserQuestion, UserReply } from "../../protocol/index.ts";
import { SendButton } from "../parts/send-button.tsx";

interface QuestionFormProps {
  readonly questions: readonly UserQuestion[];
  readonly isBusy: boolean;
  readonly onAnswer: (answer: NewAnswer) => void;
}

/** Shows an agent's questions, each with options and a field for another answer. */
export function QuestionForm({ questions, isBusy, onAnswer }: QuestionFormProps): ReactNode {
  const [replies, setReplies] = useState<readonly UserReply[]>(questions.map(() => []));
  const [texts, setTexts] = useState<readonly string[]>(questions.map(() => ""));
  const choose = (index: number, label: string): void => {
    const before = replies[index] ?? [];
    const isChosen = before.includes(label);
    const others = questions[index]?.multiSelect ? before.filter((each) => each !== label) : [];
    setReplies(replies.with(index, isChosen ? others : [...others, label]));
  };
  const isComplete = questions.every((_, index) => (replies[index]?.length ?? 0) > 0 || texts[index]?.trim());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isComplete) return;
    const given = replies.map((reply, index) => (texts[index]?.trim() ? [...reply, texts[index].trim()] : reply));
    onAnswer({ answer: "allow", replies: given });
  };
  return (
    <form className="questions" onSubmit={submit}>
      {questions.map(({ question, header, options, multiSelect }, index) => (
        <fieldset key={question}>
          <legend>
            <span className="dim">{header}</span> {question}
          </legend>
          {options.map(({ label, description }) => (
            <label key={label}>
              <input
                type={multiSelect ? "checkbox" : "radio"}
                name={question}
                checked={replies[index]?.includes(label) ?? false}
                onChange={() => choose(index, label)}
              />
              <span>
                {label}
                {description !== undefined && <span className="dim"> {description}</span>}
              </span>
            </label>
          ))}
          <input
            aria-label={`Other answer to: ${question}`}
            placeholder="Other answer"
            value={texts[index]}
            onChange={({ target }) => setTexts(texts.with(index, target.value))}
          />
        </fieldset>
      ))}
      <div className="actions">
        <SendButton type="submit" className="primary" disabled={isBusy || !isComplete}>
          Answer
        </SendButton>
        <SendButton disabled={isBusy} onClick={() => onAnswer({ answer: "deny" })}>
          Do not answer
        </SendButton>
      </div>
    </form>
  );
}
