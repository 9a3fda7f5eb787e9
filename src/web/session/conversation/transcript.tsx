import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import {
  type AgentView,
  changeWords,
  type Draft,
  type DraftPart,
  elements,
  endWords,
  type Item,
  outcomeMarks,
  stateOf,
  stateWords,
  withoutTags,
} from "../../../client/index.ts";
import { plural } from "../../../lib/portable.ts";
import { type AgentId, MAIN_AGENT, type SessionId } from "../../../protocol/index.ts";
import { formatCost, formatMs, formatTokens } from "../../parts/format.ts";
import { Markdown } from "../../parts/markdown.tsx";
import { useStore } from "../../state/store.ts";
import { PAUSED } from "../agent/agent-words.ts";
import { useNames, useSessionId } from "../session-context.ts";
import type { TranscriptFault } from "../session-store.ts";
import { CallLine } from "./call-item.tsx";
import { focusedCall, focusedTurn, turnKey } from "./focused-call.ts";
import { shownItems } from "./shown-items.ts";
import { useFollowing } from "./use-following.ts";

/** Number of items that are drawn initially, and that are added each time the user asks for earlier ones. */
const PAGE = 150;

interface TranscriptProps {
  readonly agent: AgentView;
  /** Problems with the transcript. */
  readonly fault: TranscriptFault | undefined;
  /** Loads the transcript again. */
  readonly onRetry: () => void;
  /** Cost of the agent and all agents below it, if there are any. */
  readonly total: string | undefined;
}

/**
 * Shows an agent's conversation, newest items at the bottom. Scrolls with new items while the reader is at the bottom.
 */
export function Transcript({ agent, fault: { unreadable, error } = {}, onRetry, total }: TranscriptProps): ReactNode {
  const sessionId = useSessionId();
  const [shown, setShown] = useState(PAGE);
  const first = Math.max(0, agent.items.length - shown);
  const items = shownItems([...elements(agent.items, first)]);
  const lastEnd = items.findLast(({ kind }) => kind === "end");
  const isLoading = agent.dropped > 0 && error === undefined;
  const isOver = stateOf(agent) === "ended" || stateOf(agent) === "idle";
  const openCalls = new Set(isOver ? [] : agent.calls.map(({ callId }) => callId));

  const soughtCall = useStore(focusedCall);
  const isSought = useStore(focusedTurn) !== undefined || soughtCall !== undefined;
  useEffect(() => {
    if (soughtCall === undefined || first === 0) return;
    // The call may be earlier than the items that are shown.
    const index = [...elements(agent.items)].findIndex((each) => each.kind === "call" && each.callId === soughtCall);
    if (index >= 0 && index < first) setShown(agent.items.length - index);
  }, [soughtCall, first, agent.items]);

  return (
    <div className="transcript" {...useFollowing(agent, isSought)} tabIndex={0} role="log" aria-label="Conversation">
      <div className="column">
        {unreadable !== undefined && (
          <p className="note bad" role="status">
            {unreadableWords(unreadable, fileOf(sessionId, agent.agentId))} What happened there is missing below; the
            rest is complete. Restore the file from a backup, or continue with what is there.
          </p>
        )}
        {error !== undefined && (
          <div className="note bad" role="alert">
            {agent.items.length === 0 ? "The conversation" : "The beginning of the conversation"} could not be loaded.{" "}
            {error}{" "}
            <button type="button" className="quiet" onClick={onRetry}>
              Try again
            </button>
          </div>
        )}
        {isLoading && (
          <p className="dim" role="status">
            {agent.items.length === 0 ? "Loading the conversation…" : "Loading the beginning of the conversation…"}
          </p>
        )}
        {first > 0 && (
          <button type="button" className="quiet" onClick={() => setShown(shown + PAGE)}>
            Show {Math.min(PAGE, first)} earlier items
          </button>
        )}
        {items.map((item) => (
          <ItemView
            key={item.position}
            item={item}
            agentId={agent.agentId}
            missing={missingWords(item, openCalls, agent)}
            total={item === lastEnd ? total : undefined}
          />
        ))}
        {agent.draft !== undefined && <DraftView draft={agent.draft} />}
        {items.length === 0 && agent.dropped === 0 && agent.draft === undefined && (
          <p className="dim">{emptyWords(agent)}</p>
        )}
      </div>
    </div>
  );
}

/** Describes an agent whose conversation has not begun. */
function emptyWords(agent: AgentView): string {
  switch (stateOf(agent)) {
    case "idle":
      return "Nothing has been said yet.";
    case "ended":
      return `${sentence(stateWords(agent))}.`;
    case "delayed":
      return `${sentence(stateWords(agent))}. The agent has not started yet.`;
    default:
      return "Starting…";
  }
}

/** Maximum number of line numbers to list. */
const MOST_NUMBERS = 20;

function unreadableWords(numbers: readonly number[], file: string): string {
  if (numbers.length === 1) return `Line ${numbers[0]} of ${file} can't be read and was skipped.`;
  const listed = numbers.length > MOST_NUMBERS ? [...numbers.slice(0, MOST_NUMBERS), "…"] : numbers;
  return `${numbers.length} lines of ${file} can't be read and were skipped: ${listed.join(", ")}.`;
}

/** Returns the name of the file that contains an agent's transcript. */
function fileOf(sessionId: SessionId, agentId: AgentId): string {
  return agentId === MAIN_AGENT ? `${sessionId}.jsonl` : `agent-${agentId}.jsonl`;
}

/** Says why a call has no result and will not get one in this run. */
function missingWords(item: Item, openCalls: ReadonlySet<string>, { end, isCutOff }: AgentView): string | undefined {
  if (item.kind !== "call" || item.result !== undefined || openCalls.has(item.callId)) return undefined;
  return isCutOff || end?.reason === "parked" ? "paused" : "result lost";
}

interface ItemViewProps {
  readonly item: Item;
  readonly agentId: AgentId;
  /** Why a call has no result, if it will not get one. */
  readonly missing: string | undefined;
  readonly total: string | undefined;
}

const ItemView = memo(function ItemView({ item, agentId, missing, total }: ItemViewProps): ReactNode {
  const named = useNames();
  switch (item.kind) {
    case "call":
      return <CallLine call={item} missing={missing} />;
    case "prompt":
      return (
        <PromptView text={item.text} images={item.images} from={promptSource(item.from, agentId === MAIN_AGENT)} />
      );
    case "text":
      return (
        <div className="said">
          <TurnMark turn={turnKey(agentId, item.turn)} />
          <Markdown text={item.text} />
          {item.isCutOff && <p className="note">The response was cut off here.</p>}
        </div>
      );
    case "thinking":
      return <Folded title="Thinking" text={item.text} />;
    case "run":
      return item.isResumed ? <p className="note">Resumed with {item.model}</p> : null;
    case "told":
      return <Folded title="Note from Retinue to the agent" text={item.text} />;
    case "agents":
      return (
        <Folded
          title={`${plural(item.ended?.length ?? 0, "background agent")} reported`}
          text={withoutTags(named(item.text))}
        />
      );
    case "notice":
      return <p className="note">{item.text}</p>;
    case "retry":
      return <p className="note">Trying again: {item.text}</p>;
    case "error":
      return <p className="note bad">{item.text}</p>;
    case "change":
      return <p className="note">{named(changeWords(item))}</p>;
    case "hook":
      return (
        <p className="note">
          Hook {item.hook.event}: {item.hook.decision ?? "ran"}
          {item.hook.reason === undefined ? "" : `, ${item.hook.reason}`}
        </p>
      );
    case "acceptance":
      return (
        <Folded
          title={`Acceptance check ${item.check.ok ? "passed" : "failed"}`}
          text={`${item.check.command}\n${item.check.output}`}
        />
      );
    case "compaction":
      return <Folded title={compactionWords(item)} text={item.summary} />;
    case "end":
      return <EndView item={item} total={total} />;
  }
});

/** Marks where a turn begins. Scrolls there when the turn is chosen in the timeline. */
function TurnMark({ turn }: { readonly turn: string }): ReactNode {
  const mark = useRef<HTMLSpanElement>(null);
  const isFocused = useStore(focusedTurn) === turn;
  useEffect(() => {
    if (!isFocused) return;
    focusedTurn.set(undefined);
    mark.current?.scrollIntoView({ block: "center" });
    mark.current?.focus({ preventScroll: true });
  }, [isFocused]);
  return <span ref={mark} className="turn-mark" tabIndex={-1} />;
}

function promptSource(from: "person" | "agent", isMain: boolean): string {
  if (from === "person") return "You";
  return isMain ? "Retinue" : "Task from the parent agent";
}

function PromptView({
  text,
  images,
  from,
}: {
  readonly text: string;
  readonly images: number;
  readonly from: string;
}): ReactNode {
  return (
    <div className="prompt">
      <span className="from">{from}</span>
      <div className="bubble">
        {text}
        {images > 0 && <span className="dim"> ({plural(images, "image")})</span>}
      </div>
    </div>
  );
}

function Folded({ title, text }: { readonly title: string; readonly text: string }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="folded" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <div className="folded-text">{text}</div>}
    </details>
  );
}

function compactionWords({ before, after }: Extract<Item, { kind: "compaction" }>): string {
  if (before === undefined || after === undefined) return "Conversation summarized";
  return `Conversation summarized: ${formatTokens(before)} tokens reduced to ${formatTokens(after)}`;
}

interface EndViewProps {
  readonly item: Extract<Item, { kind: "end" }>;
  readonly total: string | undefined;
}

function EndView({ item, total }: EndViewProps): ReactNode {
  const { outcome, reason, turns, costUsd, milliseconds, message, unverified } = item;
  if (reason === "parked") return <p className="note paused">{sentence(PAUSED)}</p>;
  return (
    <div className="end">
      <span className={`mark ${outcome}`}>{outcomeMarks[outcome]}</span>
      <span>{endWords(item)}</span>
      <span className="dim number">
        {plural(turns, "turn")}
        {reason !== "process_lost" && ` · ${formatMs(milliseconds)}`} · {formatCost(costUsd)}
        {total !== undefined && ` · ${total} with all agents`}
      </span>
      {outcome !== "succeeded" && message !== undefined && <p>{message}</p>}
      {unverified !== undefined && <p>{unverified}</p>}
    </div>
  );
}

function sentence(words: string): string {
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

/** Shows the response that is being written. */
function DraftView({ draft: { parts, isPartial, hasGaps } }: { readonly draft: Draft }): ReactNode {
  return (
    <div className="draft" aria-busy="true">
      {isPartial && <p className="note">The beginning was written before this page was connected.</p>}
      {parts.map((part, index) => (
        <DraftPartView key={index} part={part} />
      ))}
      {hasGaps && (
        <p className="note">
          The connection was too slow for this text, so parts of it are missing. The complete response will follow.
        </p>
      )}
    </div>
  );
}

/** Maximum number of characters of thinking to show. */
const LAST_THOUGHTS = 200;

function DraftPartView({ part }: { readonly part: DraftPart }): ReactNode {
  switch (part.kind) {
    case "text":
      return (
        <div className="said">
          <Markdown text={part.text} />
        </div>
      );
    case "thinking":
      return <p className="note">Thinking… {part.text.slice(-LAST_THOUGHTS)}</p>;
    case "call":
      return <p className="note">Preparing {part.name}…</p>;
  }
}
