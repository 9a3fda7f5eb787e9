import { type FormEvent, type ReactNode, useState } from "react";
import { isRecord } from "../../lib/portable.ts";

interface EditInputProps {
  readonly inputJson: string;
  /** The main field, which is edited as plain text; the whole input as JSON otherwise. */
  readonly field: string | undefined;
  readonly isBusy: boolean;
  readonly onSave: (inputJson: string) => void;
}

/** Changes the input of a call before it is allowed. */
export function EditInput({ inputJson, field, isBusy, onSave }: EditInputProps): ReactNode {
  const fields = parseFields(inputJson);
  const main = fields !== undefined && field !== undefined ? fields[field] : undefined;
  const [text, setText] = useState(typeof main === "string" ? main : inputJson);
  const [error, setError] = useState("");
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const edited = typeof main === "string" && field !== undefined ? { ...fields, [field]: text } : parseFields(text);
    if (edited === undefined) setError("This is not a JSON object. Check quotes, commas and braces.");
    else onSave(JSON.stringify(edited));
  };
  return (
    <form className="edit" onSubmit={save}>
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the button that opens the field asks for the text
        autoFocus
        aria-label={field === undefined ? "Input of the call as JSON" : `New ${field}`}
        rows={Math.min(12, Math.max(2, text.split("\n").length + 1))}
        value={text}
        spellCheck={false}
        onChange={({ target }) => setText(target.value)}
      />
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <p className="dim">Rules and hooks check the new input, and can still deny it.</p>
      <button type="submit" className="primary" disabled={isBusy}>
        Allow the edited call
      </button>
    </form>
  );
}

function parseFields(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
