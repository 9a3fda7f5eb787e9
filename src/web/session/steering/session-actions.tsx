import { type ReactNode, useCallback, useId, useState } from "react";
import { type LineId, type PermissionMode, permissionModes, type SessionInfo } from "../../../protocol/index.ts";
import { Choice, Field } from "../../parts/fields.tsx";
import { formatAgo, formatCost } from "../../parts/format.ts";
import { SendButton } from "../../parts/send-button.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { DeleteSession } from "../../sessions/delete-session.tsx";
import { modelsOf } from "../../sessions/models-of.ts";
import { useNow } from "../../state/clock.ts";
import { goTo } from "../../state/route.ts";
import { useServer } from "../../state/server-context.ts";
import { useStore } from "../../state/store.ts";
import { CommandDialog } from "./command-dialog.tsx";

/** Shows the button that continues a session that has reached its budget. */
export function RaiseBudgetButton({ info }: { readonly info: SessionInfo | undefined }): ReactNode {
  const [isRaising, setIsRaising] = useState(false);
  if (info === undefined) return null;
  const { reason, state, elsewhere } = info;
  const isCut = reason === "budget" && (state === "idle" || state === "ended") && elsewhere !== true;
  return (
    <>
      {isCut && (
        <SendButton className="primary" onClick={() => setIsRaising(true)}>
          Raise the budget and resume
        </SendButton>
      )}
      {isRaising && <RaiseBudget info={info} onEnd={() => setIsRaising(false)} />}
    </>
  );
}

interface DialogProps {
  readonly info: SessionInfo;
  readonly onEnd: (message?: string) => void;
}

function RaiseBudget({ info: { id, maxCost = 0, costUsd = 0 }, onEnd }: DialogProps): ReactNode {
  const { client } = useServer();
  const fieldId = useId();
  const least = Math.max(maxCost, costUsd);
  const [text, setText] = useState((least * 2).toFixed(2));
  const isValid = Number(text) > least;
  const send = async () => {
    const session = client.sessions.open(id);
    await session.limit({ maxCost: Number(text) });
    return session.resume();
  };
  return (
    <CommandDialog title="Raise the budget and resume" action="Resume" isValid={isValid} send={send} onEnd={onEnd}>
      <p>
        {formatCost(costUsd)} of {formatCost(maxCost)} has been spent. The main agent continues where it was cut off.
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
    </CommandDialog>
  );
}

interface SessionActionsProps {
  readonly info: SessionInfo;
  /** The main agent's model and permission mode. */
  readonly model: string;
  readonly mode: PermissionMode;
}

/** Shows the actions for a whole session: change its settings, shorten or rewind its conversation, and delete it. */
export function SessionActions({ info, model, mode }: SessionActionsProps): ReactNode {
  const [open, setOpen] = useState<"settings" | "compact" | "rewind">();
  const [note, setNote] = useState("");
  // Another process has the session open.
  if (info.elsewhere === true) return null;
  const end = (message = ""): void => {
    setOpen(undefined);
    setNote(message);
  };
  const show = (dialog: NonNullable<typeof open>) => () => {
    setNote("");
    setOpen(dialog);
  };
  return (
    <div className="session-actions">
      <h3>Session</h3>
      <div className="actions">
        <SendButton onClick={show("settings")}>Mode and model…</SendButton>
        <SendButton onClick={show("compact")}>Compact…</SendButton>
        <SendButton onClick={show("rewind")}>Rewind…</SendButton>
        <DeleteSession session={info} onDeleted={() => goTo({ page: "sessions" })} />
      </div>
      <p className="receipt dim" role="status">
        {note}
      </p>
      {open === "settings" && <Settings info={info} current={{ model, mode }} onEnd={end} />}
      {open === "compact" && <Compact info={info} onEnd={end} />}
      {open === "rewind" && <Rewind info={info} onEnd={end} />}
    </div>
  );
}

interface SettingsProps extends DialogProps {
  readonly current: Pick<SessionActionsProps, "model" | "mode">;
}

function Settings({ info, current, onEnd }: SettingsProps): ReactNode {
  const { client, store } = useServer();
  const { sessions = [] } = useStore(store);
  const [mode, setMode] = useState<string>(current.mode);
  const [model, setModel] = useState(current.model);
  const isNewMode = mode !== current.mode;
  const isNewModel = model.trim() !== "" && model.trim() !== current.model;
  const send = () =>
    client.sessions.open(info.id).configure({
      permissionMode: isNewMode ? (mode as PermissionMode) : undefined,
      model: isNewModel ? model.trim() : undefined,
    });
  return (
    <CommandDialog title="Mode and model" action="Change" isValid={isNewMode || isNewModel} send={send} onEnd={onEnd}>
      <div className="dialog-fields">
        <Choice label="Mode" value={mode} onChoose={setMode} hint={modeHints[mode]}>
          {permissionModes.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </Choice>
        <Field
          name="model"
          label="Main agent's model, starting with its next prompt"
          value={model}
          onChoose={setModel}
          placeholder={current.model}
          suggestions={modelsOf(sessions)}
        />
      </div>
    </CommandDialog>
  );
}

const modeHints: Readonly<Record<string, string>> = {
  default: "Asks before calls that change something.",
  acceptEdits: "Edits files in the workspace without asking.",
  dontAsk: "Denies every call that would need approval.",
  plan: "Only reads. The agent presents a plan for approval.",
  bypassPermissions: "Allows everything that no rule restricts, without asking.",
};

function Compact({ info, onEnd }: DialogProps): ReactNode {
  const { client } = useServer();
  const [words, setWords] = useState("");
  const send = () => client.sessions.open(info.id).compact(words.trim() || undefined);
  return (
    <CommandDialog title="Compact the conversation" action="Compact" isValid send={send} onEnd={onEnd}>
      <p>
        The main agent continues with a summary of its conversation instead of all of it. The transcript keeps
        everything.
      </p>
      <label className="dialog-fields">
        What the summary should contain (optional)
        <textarea rows={3} value={words} onChange={({ target }) => setWords(target.value)} />
      </label>
    </CommandDialog>
  );
}

function Rewind({ info, onEnd }: DialogProps): ReactNode {
  const { client } = useServer();
  const now = useNow();
  const { value: prompts, error } = useLoaded(
    useCallback(() => client.sessions.open(info.id).prompts(), [client, info.id]),
  );
  const [to, setTo] = useState<LineId>();
  const [files, setFiles] = useState(true);
  const send = () => client.sessions.open(info.id).rewind(to as LineId, { files });
  return (
    <CommandDialog title="Rewind the conversation" action="Rewind" isValid={to !== undefined} send={send} onEnd={onEnd}>
      <fieldset className="rewind">
        <legend>To the point before this prompt:</legend>
        {prompts === undefined && <p className="dim">{error ?? "Loading…"}</p>}
        {prompts?.length === 0 && <p className="dim">There is no prompt to go back to.</p>}
        {prompts?.toReversed().map(({ id, text, at }) => (
          <label key={id}>
            <input type="radio" name="prompt" checked={to === id} onChange={() => setTo(id)} />
            <span className="rewind-text">{text}</span>
            <span className="dim number">{formatAgo(now - at)}</span>
          </label>
        ))}
      </fieldset>
      <label className="rewind-files">
        <input type="checkbox" checked={files} onChange={({ target }) => setFiles(target.checked)} />
        Also restore the files that tools have changed since. The effects of commands stay.
      </label>
    </CommandDialog>
  );
}
