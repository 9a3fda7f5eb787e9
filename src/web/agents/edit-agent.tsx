import { type FormEvent, type ReactNode, useState } from "react";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";
import type { AgentsPlace } from "./agents-place.ts";
import { CheckResult } from "./check-result.tsx";
import { useCheck } from "./use-check.ts";

interface EditAgentProps {
  readonly name: string;
  readonly content: { readonly text: string; readonly hash: string };
  readonly place: AgentsPlace;
  /** Called with a sentence if the file was written. */
  readonly onEnd: (said?: string) => void;
}

/** Edits an agent's file, which is checked while the user types. */
export function EditAgent({ name, content, place, onEnd }: EditAgentProps): ReactNode {
  const { client } = useServer();
  const { worker, root } = place;
  const [text, setText] = useState(content.text);
  const [isSaving, setIsSaving] = useState(false);
  const [error, setError] = useState("");
  const checked = useCheck(text.trim() === "" ? undefined : { agent: name, text }, worker);
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsSaving(true);
    setError("");
    try {
      await client.agentFiles.change(name, { text, hash: content.hash }, worker);
      onEnd("Saved. New runs use it.");
    } catch (problem) {
      setError(asClientError(problem).detail);
      setIsSaving(false);
    }
  };
  return (
    <form className="edit-agent" onSubmit={(event) => void save(event)} aria-label={`Edit ${name}`}>
      <label>
        <span>Definition</span>
        <textarea
          className="mono"
          spellCheck={false}
          rows={Math.min(32, Math.max(12, text.split("\n").length + 1))}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <div className="actions">
        <button
          type="submit"
          className="primary"
          disabled={isSaving || text === content.text || (checked.isCurrent && checked.check?.loads === false)}
        >
          {isSaving ? "Saving…" : "Save"}
        </button>
        <button type="button" onClick={() => onEnd()}>
          Cancel
        </button>
      </div>
      <CheckResult checked={checked} root={root} />
    </form>
  );
}
