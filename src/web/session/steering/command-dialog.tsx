import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { Receipt } from "../../../protocol/index.ts";
import { SendButton } from "../../parts/send-button.tsx";
import { useModal } from "../../parts/use-modal.ts";
import { useOffline } from "../../state/offline.ts";
import { asClientError } from "../../state/server-store.ts";

interface CommandDialogProps {
  readonly title: string;
  /** Label of the button that sends the command. */
  readonly action: string;
  /** Whether the fields contain what the command needs. */
  readonly isValid: boolean;
  readonly send: () => Promise<Receipt>;
  /** Called when the dialog is closed, with the receipt's message if the command was carried out. */
  readonly onEnd: (message?: string) => void;
  /** What the command does, and its fields. */
  readonly children: ReactNode;
}

/** A form that sends a command. A refusal is shown in the dialog, which stays open. */
export function CommandDialog({ title, action, isValid, send, onEnd, children }: CommandDialogProps): ReactNode {
  const dialog = useModal();
  const id = useId();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setError] = useState("");
  const error = useOffline() ?? failure;
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!isValid || isBusy) return;
    setIsBusy(true);
    setError("");
    try {
      const { status, message } = await send();
      if (status === "done") return onEnd(message);
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
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onEnd();
      }}
    >
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={id}>{title}</h2>
        {children}
        {error !== "" && (
          <p className="form-error" role="alert">
            {error}
          </p>
        )}
        <div className="actions">
          <button type="button" onClick={() => onEnd()}>
            Cancel
          </button>
          <SendButton type="submit" className="primary" disabled={!isValid} isHeld={isBusy}>
            {isBusy ? "Sending…" : action}
          </SendButton>
        </div>
      </form>
    </dialog>
  );
}
