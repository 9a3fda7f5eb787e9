import { Fragment, memo, type ReactNode, useEffect, useRef, useState } from "react";
import { approvalText, type CallItem, isWaiting, resultWords } from "../../../client/index.ts";
import { maskLogin, showExactly } from "../../../lib/portable.ts";
import { canonicalToolName } from "../../../protocol/index.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Diff } from "../../parts/diff.tsx";
import { ExactText, Signs } from "../../parts/exact-text.tsx";
import { formatAge, formatMs } from "../../parts/format.ts";
import { useNow } from "../../state/clock.ts";
import { linkTo } from "../../state/route.ts";
import { useStore } from "../../state/store.ts";
import { stateLine, toneOf } from "../agent/agent-words.ts";
import { useAgent, useNames, useSessionId } from "../session-context.ts";
import { agentSign, backgroundAgentOf, type CallMark, markOf } from "./call-mark.ts";
import { focusedCall } from "./focused-call.ts";
import { Output } from "./output.tsx";

interface CallLineProps {
  readonly call: CallItem;
  /** Why there is no result, if there will be none. */
  readonly missing: string | undefined;
}

/** Shows a tool call on one line, which expands to show its input, its output and the changes that it made. */
export const CallLine = memo(function CallLine({ call, missing }: CallLineProps): ReactNode {
  const { result, approval, agents = [] } = call;
  const [isOpen, setIsOpen] = useState(false);
  const id = useSessionId();
  const named = useNames();
  const head = useRef<HTMLElement>(null);
  const isFocused = useStore(focusedCall) === call.callId;
  useEffect(() => {
    if (isFocused) setIsOpen(true);
  }, [isFocused]);
  useEffect(() => {
    // The call is scrolled into view once its body is there. The body may be taller than the conversation's region.
    if (!isFocused || !isOpen) return;
    focusedCall.set(undefined);
    head.current?.scrollIntoView({ block: "start" });
    head.current?.focus({ preventScroll: true });
  }, [isFocused, isOpen]);
  const { sign, tone, words } = useSummary(call, missing);
  const diff = result?.details?.["diff"];
  return (
    <details className="call" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary ref={head}>
        <span className={`mark ${tone}`}>{sign}</span>
        <span className="tool">{canonicalToolName(call.name)}</span>
        <span className="target">
          <Signs text={call.target} />
        </span>
        <span className="outcome">{isRunning(call, missing) ? <Running call={call} /> : named(words)}</span>
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

/** Returns the sign and the summary of a call. If its agent works in the background, they follow the agent's state. */
function useSummary(call: CallItem, missing: string | undefined): CallMark & { readonly words: string } {
  const agentId = backgroundAgentOf(call);
  const sign = useAgent(agentId, (agent) => agentSign(agent, call));
  const tone = useAgent(agentId, toneOf);
  const state = useAgent(agentId, stateLine);
  if (sign === undefined || tone === undefined) return { ...markOf(call, missing), words: outcomeWords(call, missing) };
  // The call's duration would only show how long it took to start the agent.
  return { sign, tone, words: `${resultWords(call)}: ${state}` };
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

/** Returns whether a call is in progress and has reported nothing else to show. */
function isRunning(call: CallItem, missing: string | undefined): boolean {
  return call.result === undefined && missing === undefined && !isWaiting(call) && call.progress === undefined;
}

/** Shows how long a call has been in progress. */
function Running({ call: { agents, startedAt } }: { readonly call: CallItem }): ReactNode {
  const now = useNow();
  if (startedAt === undefined) return "starting";
  return `${agents === undefined ? "running" : "working"} · ${formatAge(now - startedAt)}`;
}

/** Very short waits are not shown. */
const SHORT_WAIT_MS = 1_000;

function CallInput({ call }: { readonly call: CallItem }): ReactNode {
  const { main, inputs } = approvalText(call);
  const shown = main?.field === "url" ? maskLogin(main.value) : (main?.value ?? call.inputJson);
  return (
    <>
      {main !== undefined && isPlain(shown) ? (
        <CodeBlock text={shown} language={main.field === "command" ? "bash" : undefined} />
      ) : (
        <ExactText text={shown} />
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

/** Returns whether the text contains no misleading characters, apart from its line breaks. */
function isPlain(text: string): boolean {
  return text.split("\n").every((line) => showExactly(line) === line);
}
