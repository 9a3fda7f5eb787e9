import { type ReactNode, useId } from "react";
import { useOffline } from "../state/offline.ts";
import { SendButton } from "./send-button.tsx";
import { useModal } from "./use-modal.ts";

interface ConfirmDialogProps {
  readonly title: string;
  /** Describes what will happen. */
  readonly children: ReactNode;
  /** Label of the confirmation button. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
  readonly isBusy?: boolean;
  /** Error from the last attempt. */
  readonly error?: string;
}

/** Asks for confirmation of an action. Escape cancels, and the focus starts on Cancel. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactNode {
  const { title, children, action, onConfirm, onCancel, isBusy = false } = props;
  const error = useOffline() ?? props.error ?? "";
  const dialog = useModal();
  const id = useId();
  return (
    <dialog
      ref={dialog}
      className="confirm"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
    >
      <h2 id={id}>{title}</h2>
      <p>{children}</p>
      {error !== "" && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
      <div className="actions">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <SendButton className="danger" disabled={isBusy} onClick={onConfirm}>
          {action}
        </SendButton>
      </div>
    </dialog>
  );
}
