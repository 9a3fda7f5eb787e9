import { type FormEvent, Fragment, type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import { type AgentView, type SessionView, stateOf, stateWords } from "../../../client/index.ts";
import { MAIN_AGENT, textOf } from "../../../protocol/index.ts";
import { SendButton } from "../../parts/send-button.tsx";
import { useDraft } from "../../state/draft.ts";
import { useServer } from "../../state/server-context.ts";
import { nameOf } from "../agent/agent-words.ts";
import { useNames, useSessionId } from "../session-context.ts";
import { useReceipts } from "./receipts.ts";

interface ComposerProps {
  readonly view: SessionView;
  readonly agent: AgentView | undefined;
  /** Whether nothing can be sent, because the session was deleted. */
  readonly isDisabled: boolean;
}

/** Sends messages to the selected agent, and shows the queued prompts. */
export function Composer({ view, agent, isDisabled }: ComposerProps): ReactNode {
  const id = useSessionId();
  const session = useServer().client.sessions.open(id);
  const named = useNames();
  const { outcome, isBusy, send, clear } = useReceipts();
  const to = agent?.agentId ?? MAIN_AGENT;
  const [text, setText] = useDraft(`${id} ${to}`);
  const isMain = to === MAIN_AGENT;
  const isWorking = agent !== undefined && !["idle", "ended"].includes(stateOf(agent));
  // Only the main agent has a queue.
  const mayQueue = isMain && isWorking;
  // A receipt that says what the agent will do next is no longer true when the agent has ended.
  useEffect(() => {
    if (!isWorking) clear();
  }, [isWorking, clear]);

  const submit = async (when: "now" | "next"): Promise<void> => {
    const sent = text.trim();
    if (sent === "" || isBusy || isDisabled) return;
    setText("");
    const isDone = await send(() => session.message(to, sent, { when }));
    if (!isDone) setText((newer) => newer || sent);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit(mayQueue && !event.ctrlKey && !event.metaKey ? "next" : "now");
  };
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    void submit(mayQueue ? "next" : "now");
  };
  const queue = isMain && !isDisabled ? view.queue : [];
  const name = isMain || agent === undefined ? "the main agent" : nameOf(agent);
  return (
    <form className="composer" onSubmit={onSubmit}>
      {queue.length > 0 && (
        <ul className="queue" aria-label="Queued prompts">
          {queue.map((prompt) => (
            <QueuedPrompt key={prompt.promptId} prompt={prompt} send={send} />
          ))}
        </ul>
      )}
      <div className="write">
        <textarea
          aria-label={`Message to ${name}`}
          data-landing
          placeholder={isDisabled ? "This session was deleted" : `Message ${name}`}
          rows={Math.min(10, Math.max(1, text.split("\n").length))}
          value={text}
          disabled={isDisabled}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={onKeyDown}
        />
        <div className="write-actions">
          {mayQueue && (
            <SendButton
              disabled={isDisabled || text.trim() === ""}
              title="The agent reads it before its next step"
              onClick={() => void submit("now")}
            >
              Send now <kbd>Ctrl ⏎</kbd>
            </SendButton>
          )}
          <SendButton
            type="submit"
            className="primary"
            disabled={isDisabled || text.trim() === ""}
            title={mayQueue ? "Starts a new run after the current one" : undefined}
          >
            {mayQueue ? "Queue" : "Send"} <kbd>⏎</kbd>
          </SendButton>
        </div>
      </div>
      <p className={`receipt ${outcome?.isRefused ? "bad" : "dim"}`} role="status">
        {outcome === undefined ? isBusy && agent && undeliveredWords(agent) : named(outcome.text)}
      </p>
    </form>
  );
}

/** Explains why a message is still being sent: an agent that is waiting for a slot receives it when it starts. */
function undeliveredWords(agent: AgentView): string {
  return stateOf(agent) === "delayed" ? `Not delivered yet: the agent is ${stateWords(agent)}.` : "";
}

interface QueuedPromptProps {
  readonly prompt: SessionView["queue"][number];
  readonly send: ReturnType<typeof useReceipts>["send"];
}

/** Shows a queued prompt, which keeps its place in the queue and its images when its text is edited. */
function QueuedPrompt({ prompt: { promptId, content }, send }: QueuedPromptProps): ReactNode {
  const session = useServer().client.sessions.open(useSessionId());
  const [edited, setEdited] = useState<string>();
  const sendNow = async (): Promise<void> => {
    if (await send(() => session.withdraw(promptId)))
      await send(() => session.message(MAIN_AGENT, content, { when: "now" }));
  };
  const save = async (): Promise<void> => {
    if (edited === undefined || edited.trim() === "") return setEdited(undefined);
    const images = content.filter(({ type }) => type === "image");
    // The text stays in the field if it could not be saved.
    if (await send(() => session.edit(promptId, [{ type: "text", text: edited.trim() }, ...images])))
      setEdited(undefined);
  };
  // Different `key`s keep React from reusing the element of a focused button for another one.
  return (
    <li>
      {edited === undefined ? (
        <Fragment key="text">
          <span className="dim">Queued</span>
          <span className="queued-text">{textOf(content)}</span>
          <SendButton onClick={() => void sendNow()}>Send now</SendButton>
          <button type="button" data-landing onClick={() => setEdited(textOf(content))}>
            Edit
          </button>
          <SendButton onClick={() => void send(() => session.withdraw(promptId))}>Withdraw</SendButton>
        </Fragment>
      ) : (
        <Fragment key="form">
          <textarea
            // biome-ignore lint/a11y/noAutofocus: the user has asked for the field
            autoFocus
            aria-label="Queued prompt"
            rows={Math.min(6, edited.split("\n").length)}
            value={edited}
            onChange={({ target }) => setEdited(target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") setEdited(undefined);
              else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
                event.preventDefault();
                void save();
              }
            }}
          />
          <SendButton onClick={() => void save()}>Save</SendButton>
          <button type="button" onClick={() => setEdited(undefined)}>
            Cancel
          </button>
        </Fragment>
      )}
    </li>
  );
}
