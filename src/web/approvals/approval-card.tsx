import { type KeyboardEvent, type ReactNode, useState } from "react";
import { approvalText, type NewAnswer } from "../../client/index.ts";
import { showExactly } from "../../lib/portable.ts";
import { canonicalToolName, type WaitingApproval } from "../../protocol/index.ts";
import { formatAge } from "../parts/format.ts";
import { useReceipts } from "../session/receipts.ts";
import { useNow } from "../state/clock.ts";
import { useServer } from "../state/server-context.ts";
import { EditInput } from "./edit-input.tsx";
import { ExactText } from "./exact-text.tsx";
import { QuestionForm } from "./question-form.tsx";

interface ApprovalCardProps {
  readonly approval: WaitingApproval;
  /** Names of the agents from the main agent down to the one that asks. */
  readonly path: string;
}

type Open = "deny" | "edit" | undefined;

/** A request for approval: everything that the call would do, why it is asked for, and the possible answers. */
export function ApprovalCard({ approval: { question, askedAt }, path }: ApprovalCardProps): ReactNode {
  const { sessionId, requestId, call, decision, always, grants = [], questions = [] } = question;
  const session = useServer().client.sessions.open(sessionId);
  const { outcome, isBusy, send } = useReceipts();
  const [open, setOpen] = useState<Open>();
  const [words, setWords] = useState("");
  const now = useNow();
  const { main, others } = approvalText(call);
  const [rule] = always;

  const answer = (given: NewAnswer): void => {
    if (!isBusy) void send(() => session.answer(requestId, given));
  };
  const allow = (): void => answer({ answer: "allow" });
  const allowAlways = (): void => {
    if (rule !== undefined) answer({ answer: "allow", always: { rule, for: "session" } });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as HTMLElement).tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || questions.length > 0) return;
    const actions: Readonly<Record<string, () => void>> = {
      y: allow,
      a: allowAlways,
      e: () => setOpen("edit"),
      n: () => setOpen("deny"),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return (
    // The keys work in the whole card, so that one can read it and answer without reaching for a button.
    <section
      className="approval"
      aria-label={`${canonicalToolName(call.name)} of ${path}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <p className="approval-head">
        <b>{canonicalToolName(call.name)}</b>
        <span className="dim">{path}</span>
        <span className="dim number">{formatAge(now - askedAt)}</span>
      </p>
      {questions.length > 0 ? (
        <QuestionForm questions={questions} isBusy={isBusy} onAnswer={answer} />
      ) : (
        <>
          <ExactText text={main?.value ?? call.inputJson} />
          {others.map(({ field, value }) => (
            <CallField key={field} name={field} value={value} />
          ))}
          <p className="reason">{showExactly(decision.reason)}</p>
          <p className="dim rule">
            {decision.rule === "" ? "No rule" : <code>{showExactly(decision.rule)}</code>}
            {decision.rule !== "" && ` (${decision.scope}${decision.file ? `, ${decision.file}` : ""})`}
          </p>
          {grants.length > 0 && (
            <p className="grants">Allowing it also allows the new agent: {grants.map(showExactly).join(", ")}</p>
          )}
          <div className="actions">
            <button type="button" className="primary" disabled={isBusy} onClick={allow}>
              Allow once <kbd>y</kbd>
            </button>
            {rule !== undefined && (
              <button type="button" disabled={isBusy} onClick={allowAlways} title="For the rest of this session">
                Always: <code>{showExactly(rule)}</code> <kbd>a</kbd>
              </button>
            )}
            <button type="button" aria-expanded={open === "edit"} onClick={() => setOpen(toggled(open, "edit"))}>
              Edit <kbd>e</kbd>
            </button>
            <button type="button" aria-expanded={open === "deny"} onClick={() => setOpen(toggled(open, "deny"))}>
              Deny… <kbd>n</kbd>
            </button>
          </div>
          {open === "deny" && (
            <form
              className="deny"
              onSubmit={(event) => {
                event.preventDefault();
                answer({ answer: "deny", message: words.trim() || undefined });
              }}
            >
              <input
                // biome-ignore lint/a11y/noAutofocus: the button that opens the field asks for the words
                autoFocus
                aria-label="What the agent should do instead"
                placeholder="What should it do instead? (optional)"
                value={words}
                onChange={({ target }) => setWords(target.value)}
              />
              <button type="submit" disabled={isBusy}>
                Deny
              </button>
            </form>
          )}
          {open === "edit" && (
            <EditInput
              inputJson={call.inputJson}
              field={main?.field}
              isBusy={isBusy}
              onSave={(inputJson) => answer({ answer: "allow", inputJson })}
            />
          )}
        </>
      )}
      <p className={`receipt ${outcome?.isRefused ? "bad" : "dim"}`} role="status">
        {outcome?.text}
      </p>
    </section>
  );
}

/** One of the inputs of a call. What an edit removes and adds is shown like in a diff. */
function CallField({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  const isLong = value.includes("\n") || value.length > SHORT;
  return (
    <div className={`field ${name === "old_string" ? "removed" : name === "new_string" ? "added" : ""}`}>
      <span className="dim">{showExactly(name)}</span>
      {isLong || name.endsWith("_string") ? <ExactText text={value} /> : <code>{showExactly(value)}</code>}
    </div>
  );
}

/** Number of characters of an input that fits on a line. */
const SHORT = 60;

function toggled(open: Open, to: Open): Open {
  return open === to ? undefined : to;
}
