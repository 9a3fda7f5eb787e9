import { Fragment, memo, type ReactNode, useEffect, useRef, useState } from "react";
import { approvalText, type CallItem, isWaiting, resultWords, withoutTags } from "../../client/index.ts";
import { formatCount, showExactly } from "../../lib/portable.ts";
import { canonicalToolName, type ResultBlock } from "../../protocol/index.ts";
import { CodeBlock } from "../parts/code-block.tsx";
import { Diff } from "../parts/diff.tsx";
import { ExactText, Signs } from "../parts/exact-text.tsx";
import { formatAge, formatMs } from "../parts/format.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";
import { useStore } from "../state/store.ts";
import { focusedCall } from "./focused-call.ts";
import { useNames, useSessionId } from "./session-context.ts";

interface CallLineProps {
  readonly call: CallItem;
  /** Why there is no result, if there will be none. */
  readonly missing: string | undefined;
}

/** A tool call on one line. Expands to show its input, its output and the changes that it made. */
export const CallLine = memo(function CallLine({ call, missing }: CallLineProps): ReactNode {
  const { result, approval, agents = [] } = call;
  const [isOpen, setIsOpen] = useState(false);
  const id = useSessionId();
  const named = useNames();
  const line = useRef<HTMLDetailsElement>(null);
  const isFocused = useStore(focusedCall) === call.callId;
  useEffect(() => {
    if (!isFocused) return;
    focusedCall.set(undefined);
    setIsOpen(true);
    line.current?.scrollIntoView({ block: "center" });
    line.current?.querySelector("summary")?.focus({ preventScroll: true });
  }, [isFocused]);
  const mark = markOf(call, missing);
  const diff = result?.details?.["diff"];
  return (
    <details className="call" ref={line} open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <span className={`mark ${mark.tone}`}>{mark.sign}</span>
        <span className="tool">{canonicalToolName(call.name)}</span>
        <span className="target">
          <Signs text={call.target} />
        </span>
        <span className="outcome">{named(outcomeWords(call, missing))}</span>
      </summary>
      {isOpen && (
        <div className="call-body">
          {agents.map((agentId) => (
            <a key={agentId} href={linkTo({ page: "session", id, agent: agentId })}>
              Transcript of {named(agentId)}
            </a>
          ))}
          {approval?.answer !== undefined && (
            <p className="dim">
              {approval.answer.answer === "allow" ? "Allowed" : "Denied"} by {approval.answer.by}
              {approval.answer.message ? `: ${approval.answer.message}` : ""}
            </p>
          )}
          {typeof diff === "string" ? (
            <>
              <Diff text={diff} path={call.target} />
              <details className="folded">
                <summary>Raw</summary>
                <CallInput call={call} />
                {result !== undefined && <Output content={result.content} />}
              </details>
            </>
          ) : (
            <>
              <CallInput call={call} />
              {result !== undefined && <Output content={result.content} />}
            </>
          )}
        </div>
      )}
    </details>
  );
});

function markOf(call: CallItem, missing: string | undefined): { readonly sign: string; readonly tone: string } {
  const { result } = call;
  if (result !== undefined) {
    if (result.outcome === "cancelled") return { sign: "–", tone: "calm" };
    if (result.outcome !== "ok") return { sign: "✗", tone: "bad" };
    // The report of an agent that was cut is not its whole work.
    return result.details?.["outcome"] === "incomplete" ? { sign: "!", tone: "asking" } : { sign: "✓", tone: "good" };
  }
  if (missing !== undefined) return { sign: "–", tone: "calm" };
  return isWaiting(call) ? { sign: "?", tone: "asking" } : { sign: "•", tone: "busy" };
}

/**
 * Summarizes the result of a call: `+4 −1 · 40 ms (waited 31 s)`. The duration does not include waiting for approval.
 */
function outcomeWords(call: CallItem, missing: string | undefined): string {
  const { result, approval, startedAt } = call;
  if (result === undefined) return missing ?? (isWaiting(call) ? "waiting for approval" : (call.progress ?? ""));
  const waited = approval === undefined ? 0 : Math.max(0, (startedAt ?? 0) - approval.askedAt);
  const time = formatMs(Math.max(0, result.milliseconds - waited));
  const wait = waited >= SHORT_WAIT_MS ? ` (waited ${formatAge(waited)})` : "";
  return [resultWords(call), `${time}${wait}`].filter((part) => part !== "").join(" · ");
}

/** Very short waits are not shown. */
const SHORT_WAIT_MS = 1_000;

function CallInput({ call }: { readonly call: CallItem }): ReactNode {
  const { main, inputs } = approvalText(call);
  return (
    <>
      {main !== undefined && isPlain(main.value) ? (
        <CodeBlock text={main.value} language={main.field === "command" ? "bash" : undefined} />
      ) : (
        <ExactText text={main?.value ?? call.inputJson} />
      )}
      {inputs.length > 0 && (
        <pre className="input">
          {inputs.map((line) => (
            <Fragment key={line}>
              <Signs text={line} />
              {"\n"}
            </Fragment>
          ))}
        </pre>
      )}
    </>
  );
}

/** Returns whether a text contains no misleading characters, apart from its line breaks. */
function isPlain(text: string): boolean {
  return text.split("\n").every((line) => showExactly(line) === line);
}

/** Number of characters to show at once. */
const MOST = 20_000;
/** Longer outputs are saved as a file instead, because the browser could not show them. */
const LONGEST = 2_000_000;

function Output({ content }: { readonly content: readonly ResultBlock[] }): ReactNode {
  const text = withoutTags(content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n"));
  const address = /retinue:\/\/result\/([\w-]+)/.exec(text)?.[1];
  const [isWhole, setIsWhole] = useState(false);
  if (text === "") return <p className="dim">No output.</p>;
  return (
    <>
      <pre className="output" tabIndex={0}>
        {isWhole ? text : text.slice(0, MOST)}
      </pre>
      {text.length > MOST && !isWhole && (
        <button type="button" onClick={() => setIsWhole(true)}>
          Show {formatCount(text.length - MOST)} more characters
        </button>
      )}
      {address !== undefined && <WholeOutput name={address} />}
    </>
  );
}

/** Loads the whole output of a call if the model saw only part of it. */
function WholeOutput({ name }: { readonly name: string }): ReactNode {
  const session = useServer().client.sessions.open(useSessionId());
  const [state, setState] = useState<{ readonly text?: string; readonly note?: string }>({});
  const load = async (): Promise<void> => {
    setState({ note: "Loading…" });
    try {
      const text = await session.result(name);
      if (text.length <= LONGEST) {
        setState({ text });
        return;
      }
      save(text, `${name}.txt`);
      setState({ note: `The output has ${formatCount(text.length)} characters. It was saved as ${name}.txt.` });
    } catch (error) {
      setState({ note: asClientError(error).detail });
    }
  };
  if (state.text !== undefined)
    return (
      <pre className="output" tabIndex={0}>
        {state.text}
      </pre>
    );
  return (
    <p>
      <button type="button" onClick={() => void load()}>
        Load the whole output
      </button>{" "}
      <span role="status">{state.note}</span>
    </p>
  );
}

function save(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
