import { type KeyboardEvent, type MouseEvent, type ReactNode, useCallback, useId, useRef, useState } from "react";
import { approvalText, type NewAnswer } from "../../client/index.ts";
import { showExactly } from "../../lib/portable.ts";
import { canonicalToolName, type Line, type WaitingApproval } from "../../protocol/index.ts";
import { ChangeDiff } from "../parts/diff.tsx";
import { ExactLine, ExactText, Signs } from "../parts/exact-text.tsx";
import { formatAge } from "../parts/format.ts";
import { SendButton } from "../parts/send-button.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { useReceipts } from "../session/steering/receipts.ts";
import { useNow } from "../state/clock.ts";
import { useServer } from "../state/server-context.ts";
import { placeOf } from "./change-place.ts";
import { EditInput } from "./edit-input.tsx";
import { QuestionForm } from "./question-form.tsx";
import { useReadTime } from "./read-time.ts";

interface ApprovalCardProps {
  readonly approval: WaitingApproval;
  /** Names of the agents from the main agent down to the one that is asking. */
  readonly path: string;
  /** Changes when the card moves to another place on the page. */
  readonly place: string;
}

type Open = "deny" | "edit" | undefined;

/** Shows a request for approval: everything that the call would do, why it needs approval, and the possible answers. */
export function ApprovalCard({ approval, path, place }: ApprovalCardProps): ReactNode {
  const { question, askedAt } = approval;
  const { sessionId, requestId, call, always, questions = [] } = question;
  const session = useServer().client.sessions.open(sessionId);
  const { outcome, isBusy, send } = useReceipts();
  const [open, setOpen] = useState<Open>();
  const card = useRef<HTMLElement>(null);
  const { isReady, restart, handlers } = useReadTime(place);
  const now = useNow();
  const ruleId = useId();
  const [rule] = always;
  const title = questions.length > 0 ? "Question" : canonicalToolName(call.name);

  const answer = async (given: NewAnswer): Promise<void> => {
    if (isBusy) return;
    await send(() => session.answer(requestId, given));
  };
  const allow = (): void => void answer({ answer: "allow" });
  const allowAlways = (): void => {
    if (rule !== undefined) void answer({ answer: "allow", always: { rule, for: "session" } });
  };
  const close = (): void => {
    setOpen(undefined);
    card.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.key === "Escape" && open !== undefined) {
      event.preventDefault();
      close();
      return;
    }
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as HTMLElement).tagName);
    // While a form is open, the keys would answer the unchanged call.
    if (isTyping || open !== undefined || questions.length > 0) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // A key that is held down must not answer one request after the other.
    if (event.repeat) return;
    const actions: Readonly<Record<string, () => void>> = {
      y: allow,
      a: allowAlways,
      e: () => setOpen("edit"),
      n: () => setOpen("deny"),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    if (isReady) action();
    else restart();
  };
  /**
   * Ignores clicks that may be meant for the request that was here before, such as the second click of a double-click.
   */
  const onClick = (action: () => void) => (event: MouseEvent) => {
    if (isReady && event.detail <= 1) action();
  };
  const isHeld = isBusy || !isReady;
  return (
    // The keys work in the whole card, so that users can read it and answer without moving to a button.
    <section
      className="approval"
      role="group"
      aria-label={`${title} of ${path}`}
      ref={card}
      tabIndex={0}
      onKeyDown={onKeyDown}
      {...handlers}
      data-request={requestId}
      data-landing
    >
      <p className="approval-head">
        <b>{showExactly(title)}</b>
        <span className="dim">{path}</span>
        <span className="dim number">{formatAge(now - askedAt)}</span>
      </p>
      {questions.length > 0 ? (
        <QuestionForm questions={questions} isBusy={isBusy} onAnswer={(given) => void answer(given)} />
      ) : open === "edit" ? (
        <EditInput
          inputJson={call.inputJson}
          isBusy={isBusy}
          onSave={(inputJson) => void answer({ answer: "allow", inputJson })}
          onCancel={close}
        />
      ) : (
        <>
          <CallText question={question} />
          {open === "deny" ? (
            <DenyForm isBusy={isBusy} onDeny={(message) => void answer({ answer: "deny", message })} onCancel={close} />
          ) : (
            <div className="actions">
              <SendButton className="primary" isHeld={isHeld} onClick={onClick(allow)}>
                Allow once <kbd>y</kbd>
              </SendButton>
              {rule !== undefined && (
                <SendButton isHeld={isHeld} onClick={onClick(allowAlways)} aria-describedby={ruleId}>
                  Always <kbd>a</kbd>
                </SendButton>
              )}
              <span className="pair">
                <SendButton isHeld={isHeld} onClick={onClick(() => setOpen("edit"))}>
                  Change… <kbd>e</kbd>
                </SendButton>
                <SendButton isHeld={isHeld} onClick={onClick(() => setOpen("deny"))}>
                  Deny… <kbd>n</kbd>
                </SendButton>
              </span>
            </div>
          )}
          {rule !== undefined && open === undefined && (
            <p id={ruleId} className="dim rule">
              Always allows <ExactLine text={rule} /> for the rest of this session.
            </p>
          )}
        </>
      )}
      <p className={`receipt ${outcome?.isRefused ? "bad" : "dim"}`} role="status">
        {outcome?.text}
      </p>
    </section>
  );
}

/** Shows what the call would do, why it needs approval, and what else the approval grants. */
function CallText({ question }: { readonly question: WaitingApproval["question"] }): ReactNode {
  const { call, decision, grants = [] } = question;
  const { main, others } = approvalText(call);
  const change = changeIn(canonicalToolName(call.name), others);
  const path = main?.value ?? "";
  return (
    <>
      <ExactText text={main?.value ?? call.inputJson} />
      {change !== undefined && <PlacedDiff question={question} {...change} path={path} />}
      {others
        .filter(({ field }) => change === undefined || !changeFields.has(field))
        .map(({ field, value }) => (
          <CallField key={field} name={field} value={value} />
        ))}
      <p className="reason">
        <Signs text={showExactly(decision.reason)} />
      </p>
      {decision.rule !== "" && decision.scope !== "builtin" && (
        <p className="dim rule">
          Rule <ExactLine text={decision.rule} /> from {decision.file ?? scopeWords(decision.scope)}
        </p>
      )}
      {grants.length > 0 && (
        <p className="grants">
          Allowing it also allows the new agent: <Signs text={grants.map(showExactly).join(", ")} />
        </p>
      )}
    </>
  );
}

interface PlacedDiffProps {
  readonly question: WaitingApproval["question"];
  readonly before: string;
  readonly after: string;
  readonly path: string;
}

/** Shows a change with its line numbers in the file, which are determined from what the agent has read. */
function PlacedDiff({ question: { sessionId, agentId }, before, after, path }: PlacedDiffProps): ReactNode {
  const { client } = useServer();
  const { value: first } = useLoaded(
    useCallback(async () => {
      if (before === "") return 1;
      const lines: Line[] = [];
      for await (const line of client.sessions.open(sessionId).lines(agentId)) lines.push(line);
      return placeOf(before, path, lines);
    }, [client, sessionId, agentId, before, path]),
  );
  return <ChangeDiff before={before} after={after} path={path} first={first} />;
}

const changeFields: ReadonlySet<string> = new Set(["old_string", "new_string", "content"]);

/** Returns the text before and after the change that a call would make; undefined if its inputs do not contain them. */
function changeIn(
  tool: string,
  others: readonly { readonly field: string; readonly value: string }[],
): { readonly before: string; readonly after: string } | undefined {
  const value = (name: string): string | undefined => others.find(({ field }) => field === name)?.value;
  if (tool === "Write") return { before: "", after: value("content") ?? "" };
  const [before, after] = [value("old_string"), value("new_string")];
  return tool === "Edit" && before !== undefined && after !== undefined ? { before, after } : undefined;
}

function scopeWords(scope: string): string {
  return scope === "session" ? "this session" : `the ${scope} settings`;
}

interface DenyFormProps {
  readonly isBusy: boolean;
  readonly onDeny: (message: string | undefined) => void;
  readonly onCancel: () => void;
}

function DenyForm({ isBusy, onDeny, onCancel }: DenyFormProps): ReactNode {
  const [words, setWords] = useState("");
  return (
    <form
      className="deny"
      onSubmit={(event) => {
        event.preventDefault();
        onDeny(words.trim() || undefined);
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: the user has asked for the field
        autoFocus
        aria-label="What the agent should do instead"
        placeholder="What should it do instead? (optional)"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      <div className="actions">
        <SendButton type="submit" disabled={isBusy}>
          Deny <kbd>⏎</kbd>
        </SendButton>
        <button type="button" onClick={onCancel}>
          Cancel <kbd>Esc</kbd>
        </button>
      </div>
    </form>
  );
}

/** Shows one of a call's inputs. */
function CallField({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  const isLong = value.includes("\n") || value.length > SHORT;
  return (
    <div className="field">
      <span className="dim">{showExactly(name)}</span>
      {isLong ? <ExactText text={value} /> : <ExactLine text={value} />}
    </div>
  );
}

/** Maximum length of an input on one line, in characters. */
const SHORT = 60;
