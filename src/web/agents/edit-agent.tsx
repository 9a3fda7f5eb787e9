import { type FormEvent, type ReactNode, useState } from "react";
import { ChangeDiff } from "../parts/diff.tsx";
import { SendButton } from "../parts/send-button.tsx";
import { hasDraft, useDraft } from "../state/draft.ts";
import { useOffline } from "../state/offline.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";
import type { AgentsPlace } from "./agents-place.ts";
import { CheckResult } from "./check-result.tsx";
import { useCheck } from "./use-check.ts";

/** A file's text and its hash, which the server compares before it replaces the file. */
interface FileContent {
  readonly text: string;
  readonly hash: string;
}

interface EditAgentProps {
  readonly name: string;
  /** Current content of the file. */
  readonly content: FileContent;
  readonly place: AgentsPlace;
  /** Reloads the file. */
  readonly onReload: () => void;
  /** Called when the user has finished, with a message if the file was written. */
  readonly onEnd: (said?: string) => void;
}

/** Edits an agent's file, which is checked while the user types. */
export function EditAgent({ name, content, place, onReload, onEnd }: EditAgentProps): ReactNode {
  const { client } = useServer();
  const { worker, root } = place;
  const [opened, setOpened] = useState(content);
  const [stored, setStored] = useDraft(editKey(name, worker));
  /** The user's text, and the hash of the text that it is based on. */
  const { text, hash } = stored === "" ? opened : (JSON.parse(stored) as FileContent);
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setError] = useState("");
  const error = useOffline() ?? failure;
  const checked = useCheck(text.trim() === "" ? undefined : { agent: name, text }, worker);
  const isChanged = text !== content.text;
  const isOutdated = hash !== content.hash && isChanged;
  /** Starts over from the current file, with or without the user's text. */
  const startAgain = (kept?: string): void => {
    setOpened(content);
    setStored(kept === undefined ? "" : JSON.stringify({ text: kept, hash: content.hash }));
  };
  const end = (said?: string): void => {
    setStored("");
    onEnd(said);
  };
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsSaving(true);
    setError("");
    try {
      await client.agentFiles.change(name, { text, hash }, worker);
      end("Saved. New runs use it.");
    } catch (problem) {
      const { code, detail } = asClientError(problem);
      // The newer text is shown instead.
      if (code === "conflict") onReload();
      else setError(detail);
      setIsSaving(false);
    }
  };
  const isBroken = checked.isCurrent && checked.check?.loads === false;
  return (
    <form className="edit-agent" onSubmit={(event) => void save(event)} aria-label={`Edit ${name}`}>
      {isOutdated && (
        <div className="note-box warning" role="alert">
          <p>
            <b>The file has changed since you opened it.</b> Your text is kept below and is not saved. Saving it would
            change the file like this:
          </p>
          <ChangeDiff before={content.text} after={text} path="agent.md" first={1} />
          <div className="actions">
            <button type="button" onClick={() => startAgain(text)}>
              Continue with my text
            </button>
            <button type="button" onClick={() => startAgain()}>
              Discard it and load the file
            </button>
          </div>
        </div>
      )}
      <label>
        <span>Definition</span>
        <textarea
          // biome-ignore lint/a11y/noAutofocus: the user has asked for the field
          autoFocus
          className="mono"
          spellCheck={false}
          rows={Math.min(32, Math.max(12, text.split("\n").length + 1))}
          value={text}
          onChange={({ target }) =>
            setStored(target.value === opened.text ? "" : JSON.stringify({ text: target.value, hash }))
          }
        />
      </label>
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <div className="actions">
        <SendButton type="submit" className="primary" disabled={isSaving || !isChanged || isOutdated || isBroken}>
          {isSaving ? "Saving…" : "Save"}
        </SendButton>
        <button type="button" onClick={() => end()}>
          Cancel
        </button>
      </div>
      <CheckResult
        checked={checked}
        root={root}
        needs={text.trim() === "" ? "The file would be empty. Write a definition." : undefined}
      />
    </form>
  );
}

/** Returns whether the user has changed an agent's text without saving it. */
export function hasUnsaved(name: string, worker: string | undefined): boolean {
  return hasDraft(editKey(name, worker));
}

function editKey(name: string, worker: string | undefined): string {
  return `agent ${worker ?? ""} ${name}`;
}
