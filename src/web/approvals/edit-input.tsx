import { type FormEvent, type KeyboardEvent, type ReactNode, useState } from "react";
import { isRecord, showExactly } from "../../lib/portable.ts";
import { ExactText } from "../parts/exact-text.tsx";
import { SendButton } from "../parts/send-button.tsx";

interface EditInputProps {
  readonly inputJson: string;
  readonly isBusy: boolean;
  readonly onSave: (inputJson: string) => void;
  readonly onCancel: () => void;
}

/** Field name for an input that contains no text. */
const WHOLE = "The call's input as JSON";

/** Lets the user change a call's input before the call is allowed. Every string in the input can be changed. */
export function EditInput({ inputJson, isBusy, onSave, onCancel }: EditInputProps): ReactNode {
  const fields = parseFields(inputJson);
  const names = fields === undefined ? [] : textFields(fields);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    names.length === 0
      ? { [WHOLE]: inputJson }
      : Object.fromEntries(names.map((name) => [name, String(fields?.[name])])),
  );
  const [error, setError] = useState("");
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) save(event);
  };
  const save = (event: FormEvent | KeyboardEvent): void => {
    event.preventDefault();
    const edited = names.length === 0 ? parseFields(texts[WHOLE] ?? "") : { ...fields, ...texts };
    if (edited === undefined) setError("This is not a JSON object. Check quotes, commas and braces.");
    else onSave(JSON.stringify(edited));
  };
  return (
    <form className="edit" onSubmit={save}>
      {Object.entries(texts).map(([name, text], index) => (
        <label key={name}>
          <span className="dim">{showExactly(name)}</span>
          <textarea
            // biome-ignore lint/a11y/noAutofocus: the user has asked for the form
            autoFocus={index === 0}
            aria-label={names.length === 0 ? WHOLE : `New ${name}`}
            rows={Math.min(12, Math.max(1, text.split("\n").length))}
            value={text}
            spellCheck={false}
            onKeyDown={onKeyDown}
            onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
          />
          {hidesSomething(text) && (
            <>
              <span className="dim">With all characters visible:</span>
              <ExactText text={text} />
            </>
          )}
        </label>
      ))}
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <p className="dim">Rules and hooks check the new input, and can still deny it.</p>
      <div className="actions">
        <SendButton type="submit" className="primary" disabled={isBusy}>
          Allow the edited call <kbd>Ctrl ⏎</kbd>
        </SendButton>
        <button type="button" onClick={onCancel}>
          Cancel <kbd>Esc</kbd>
        </button>
      </div>
    </form>
  );
}

/** Returns whether a text field would fail to show the text exactly, apart from line breaks and indentation. */
function hidesSomething(text: string): boolean {
  return text.split("\n").some((line) => {
    const shown = line.replace(/^ +/, "");
    return showExactly(shown) !== shown;
  });
}

/** Returns the names of the text inputs: first what the call does or writes, then where, then all others. */
function textFields(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const rank = (name: string): number => {
    const index = order.indexOf(name);
    return index === -1 ? order.length : index;
  };
  return Object.keys(fields)
    .filter((name) => typeof fields[name] === "string")
    .sort((one, other) => rank(one) - rank(other));
}

const order: readonly string[] = [
  ...["command", "new_string", "content", "new_source", "prompt", "plan", "url", "query", "pattern"],
  ...["file_path", "notebook_path", "path"],
];

function parseFields(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
