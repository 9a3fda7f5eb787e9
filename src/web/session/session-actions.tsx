import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { SessionInfo } from "../../protocol/index.ts";
import { formatCost } from "../parts/format.ts";
import { DeleteSession } from "../sessions/delete-session.tsx";
import { goTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";

/** Shows the actions for a whole session: raise the budget that ended it, and delete it. */
export function SessionActions({ info }: { readonly info: SessionInfo | undefined }): ReactNode {
  const [isRaising, setIsRaising] = useState(false);
  if (info === undefined) return null;
  const { reason, state, elsewhere } = info;
  const isCut = reason === "budget" && (state === "idle" || state === "ended") && elsewhere !== true;
  return (
    <div className="session-actions">
      {isCut && (
        <button type="button" className="primary" onClick={() => setIsRaising(true)}>
          Raise the budget and resume
        </button>
      )}
      {isRaising && <RaiseBudget info={info} onEnd={() => setIsRaising(false)} />}
      {elsewhere !== true && <DeleteSession session={info} onDeleted={() => goTo({ page: "sessions" })} />}
    </div>
  );
}

interface RaiseBudgetProps {
  readonly info: SessionInfo;
  readonly onEnd: () => void;
}

function RaiseBudget({ info: { id, maxCost = 0, costUsd = 0 }, onEnd }: RaiseBudgetProps): ReactNode {
  const { client } = useServer();
  const dialog = useRef<HTMLDialogElement>(null);
  const fieldId = useId();
  const least = Math.max(maxCost, costUsd);
  const [text, setText] = useState((least * 2).toFixed(2));
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState("");
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const isValid = Number(text) > least;
  const raise = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!isValid) return;
    setIsBusy(true);
    setError("");
    try {
      const session = client.sessions.open(id);
      await session.limit({ maxCost: Number(text) });
      const { status, message } = await session.resume();
      if (status === "done") return onEnd();
      setError(message);
    } catch (problem) {
      setError(asClientError(problem).detail);
    }
    setIsBusy(false);
  };
  return (
    <dialog
      ref={dialog}
      className="confirm"
      aria-labelledby={`${fieldId}-title`}
      onCancel={(event) => {
        event.preventDefault();
        onEnd();
      }}
    >
      <form onSubmit={(event) => void raise(event)}>
        <h2 id={`${fieldId}-title`}>Raise the budget and resume</h2>
        <p>
          {formatCost(costUsd)} of {formatCost(maxCost)} are spent. The main agent continues where it was cut.
        </p>
        <label className="raise">
          New budget in $
          <input
            value={text}
            inputMode="decimal"
            autoComplete="off"
            aria-invalid={!isValid}
            aria-describedby={isValid ? undefined : fieldId}
            onChange={({ target }) => setText(target.value)}
          />
          {!isValid && (
            <span id={fieldId} className="hint bad">
              Budget must be a number above {least.toFixed(2)}.
            </span>
          )}
        </label>
        {error !== "" && (
          <p className="form-error" role="alert">
            {error}
          </p>
        )}
        <div className="actions">
          <button type="button" onClick={onEnd}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={!isValid || isBusy}>
            {isBusy ? "Resuming…" : "Resume"}
          </button>
        </div>
      </form>
    </dialog>
  );
}
