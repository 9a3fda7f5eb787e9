import { Fragment, memo, type ReactNode, useEffect, useRef, useState } from "react";
import { approvalText, type CallItem, isWaiting, resultWords } from "../../client/index.ts";
import { formatCount, showExactly } from "../../lib/portable.ts";
import { canonicalToolName, type ResultBlock } from "../../protocol/index.ts";
import { CodeBlock } from "../parts/code-block.tsx";
import { Diff } from "../parts/diff.tsx";
import { ExactText, Signs } from "../parts/exact-text.tsx";
import { formatMs } from "../parts/format.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";
import { useStore } from "../state/store.ts";
import { focusedCall } from "./focused-call.ts";
import { useSessionId } from "./session-context.ts";

/** A tool call on one line. It opens to its input, its output and the changes that it made. */
export const CallLine = memo(function CallLine({ call }: { readonly call: CallItem }): ReactNode {
  const { result, approval, agents = [] } = call;
  const [isOpen, setIsOpen] = useState(false);
  const id = useSessionId();
  const line = useRef<HTMLDetailsElement>(null);
  const isFocused = useStore(focusedCall) === call.callId;
  useEffect(() => {
    if (!isFocused) return;
    focusedCall.set(undefined);
    setIsOpen(true);
    line.current?.scrollIntoView({ block: "center" });
    line.current?.querySelector("summary")?.focus({ preventScroll: true });
  }, [isFocused]);
  return (
    <details className="call" ref={line} open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <span className={`mark ${markOf(call).tone}`}>{markOf(call).sign}</span>
        <span className="tool">{canonicalToolName(call.name)}</span>
        <span className="target">
          <Signs text={call.target} />
        </span>
        <span className="outcome">
          {isWaiting(call) ? "waiting for approval" : resultWords(call) || (result === undefined ? call.progress : "")}
          {result !== undefined && <span className="dim"> {formatMs(result.milliseconds)}</span>}
        </span>
      </summary>
      {isOpen && (
        <div className="call-body">
          {agents.map((agentId) => (
            <a key={agentId} href={linkTo({ page: "session", id, agent: agentId })}>
              Transcript of {agentId}
            </a>
          ))}
          {approval?.answer !== undefined && (
            <p className="dim">
              {approval.answer.answer === "allow" ? "Allowed" : "Denied"} by {approval.answer.by}
              {approval.answer.message ? `: ${approval.answer.message}` : ""}
            </p>
          )}
          <CallInput call={call} />
          {typeof result?.details?.["diff"] === "string" && <Diff text={result.details["diff"]} path={call.target} />}
          {result !== undefined && <Output content={result.content} />}
        </div>
      )}
    </details>
  );
});

function markOf(call: CallItem): { readonly sign: string; readonly tone: string } {
  if (call.result !== undefined)
    return call.result.outcome === "ok" ? { sign: "✓", tone: "good" } : { sign: "✗", tone: "bad" };
  return isWaiting(call) ? { sign: "?", tone: "asking" } : { sign: "•", tone: "busy" };
}

function CallInput({ call }: { readonly call: CallItem }): ReactNode {
  const { main, inputs } = approvalText(call);
  // A diff shows the same more clearly.
  const hasDiff = typeof call.result?.details?.["diff"] === "string";
  if (hasDiff) return null;
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

/** Whether a text looks like what it is, apart from its line breaks. */
function isPlain(text: string): boolean {
  return text.split("\n").every((line) => showExactly(line) === line);
}

/** Number of characters to show at once. */
const MOST = 20_000;
/** Longer outputs are saved as a file instead, because the browser could not show them. */
const LONGEST = 2_000_000;

function Output({ content }: { readonly content: readonly ResultBlock[] }): ReactNode {
  const text = content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
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

/** Loads the whole output of a call, of which the model saw only a part. */
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
