import { type ReactNode, useState } from "react";
import type { SessionInfo } from "../../protocol/index.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { SendButton } from "../parts/send-button.tsx";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";

interface DeleteSessionProps {
  readonly session: SessionInfo;
  readonly onDeleted?: () => void;
}

/** Shows a button that deletes a session after confirmation. */
export function DeleteSession({ session, onDeleted }: DeleteSessionProps): ReactNode {
  const { client } = useServer();
  const [isAsking, setIsAsking] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState("");
  const { id, title = "No prompt yet", state } = session;
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    setError("");
    try {
      await client.sessions.delete(id);
      onDeleted?.();
    } catch (problem) {
      setError(asClientError(problem).detail);
      setIsBusy(false);
    }
  };
  return (
    <>
      <SendButton
        className="quiet delete"
        aria-label={`Delete the session: ${title}`}
        title="Delete"
        onClick={() => setIsAsking(true)}
      >
        Delete
      </SendButton>
      {isAsking && (
        <ConfirmDialog
          title="Delete this session?"
          action="Delete"
          isBusy={isBusy}
          error={error}
          onConfirm={() => void remove()}
          onCancel={() => setIsAsking(false)}
        >
          “{title}”{" "}
          {state === "running" || state === "waiting" ? "is working. Its agents will be stopped, and its" : "and its"}{" "}
          transcripts will be deleted. Files that its agents have changed will stay as they are. This can't be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
