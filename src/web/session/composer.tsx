import { type FormEvent, type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { type AgentView, type SessionView, stateOf } from "../../client/index.ts";
import { MAIN_AGENT, textOf } from "../../protocol/index.ts";
import { useServer } from "../state/server-context.ts";
import { nameOf } from "./agent-words.ts";
import { useReceipts } from "./receipts.ts";
import { useSessionId } from "./session-context.ts";

interface ComposerProps {
  readonly view: SessionView;
  readonly agent: AgentView | undefined;
}

/** Writes to the agent that is shown, and shows the prompts that wait for their turn. */
export function Composer({ view, agent }: ComposerProps): ReactNode {
  const session = useServer().client.sessions.open(useSessionId());
  const { outcome, isBusy, send } = useReceipts();
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const to = agent?.agentId ?? MAIN_AGENT;
  const isMain = to === MAIN_AGENT;
  const isWorking = agent !== undefined && !["idle", "ended"].includes(stateOf(agent));
  // Only the main agent has a queue.
  const mayQueue = isMain && isWorking;

  const submit = async (when: "now" | "next"): Promise<void> => {
    const sent = text.trim();
    if (sent === "" || isBusy) return;
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
  const takeBack = async (promptId: SessionView["queue"][number]["promptId"], then: () => void): Promise<void> => {
    if (await send(() => session.withdraw(promptId))) then();
  };
  const queue = isMain ? view.queue : [];
  const name = isMain || agent === undefined ? "the main agent" : nameOf(agent);
  return (
    <form className="composer" onSubmit={onSubmit}>
      {queue.length > 0 && (
        <ul className="queue" aria-label="Prompts that wait for their turn">
          {queue.map(({ promptId, content }) => (
            <li key={promptId}>
              <span className="dim">Queued</span>
              <span className="queued-text">{textOf(content)}</span>
              <button
                type="button"
                onClick={() =>
                  void takeBack(promptId, () => void send(() => session.message(to, content, { when: "now" })))
                }
              >
                Send now
              </button>
              <button
                type="button"
                onClick={() =>
                  void takeBack(promptId, () => {
                    setText(textOf(content));
                    field.current?.focus();
                  })
                }
              >
                Edit
              </button>
              <button type="button" onClick={() => void takeBack(promptId, () => undefined)}>
                Withdraw
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="write">
        <textarea
          ref={field}
          aria-label={`Message to ${name}`}
          placeholder={`Message ${name}`}
          rows={Math.min(10, Math.max(1, text.split("\n").length))}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={onKeyDown}
        />
        <div className="write-actions">
          {mayQueue && (
            <button
              type="button"
              disabled={text.trim() === ""}
              title="The agent reads it before its next step"
              onClick={() => void submit("now")}
            >
              Send now <kbd>Ctrl ⏎</kbd>
            </button>
          )}
          <button
            type="submit"
            className="primary"
            disabled={text.trim() === ""}
            title={mayQueue ? "Starts a new run after the current one" : undefined}
          >
            {mayQueue ? "Queue" : "Send"} <kbd>⏎</kbd>
          </button>
        </div>
      </div>
      <p className={`receipt ${outcome?.isRefused ? "bad" : "dim"}`} role="status">
        {outcome?.text}
      </p>
    </form>
  );
}
