import { memo, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
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
} from "../../client/index.ts";
import { formatCount, plural } from "../../lib/portable.ts";
import { MAIN_AGENT } from "../../protocol/index.ts";
import { formatCost, formatMs, formatTokens } from "../parts/format.ts";
import { Markdown } from "../parts/markdown.tsx";
import { CallLine } from "./call-item.tsx";

/** Number of items that are drawn at first, and that are added when earlier ones are wanted. */
const PAGE = 150;
/** Distance from the end at which the reader counts as following. */
const NEAR = 80;

/** The conversation of an agent, newest at the bottom. Stays at the bottom as long as the reader is there. */
export function Transcript({ agent }: { readonly agent: AgentView }): ReactNode {
  const [shown, setShown] = useState(PAGE);
  const scroller = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const first = Math.max(0, agent.items.length - shown);
  const items = [...elements(agent.items, first)];
  const earlier = agent.dropped + first;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && isFollowing.current) element.scrollTop = element.scrollHeight;
  });
  useEffect(() => {
    const element = scroller.current;
    const inner = element?.firstElementChild;
    if (!element || !inner) return undefined;
    // Highlighted code and opened calls change the height without a change of the items.
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);
  const onScroll = (): void => {
    const element = scroller.current;
    if (element !== null) isFollowing.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
  };
  return (
    <div className="transcript" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-label="Conversation">
      <div className="column">
        {earlier > 0 && (
          <button type="button" className="quiet" onClick={() => setShown(shown + PAGE)} disabled={first === 0}>
            {first === 0
              ? `Loading ${formatCount(earlier)} earlier items…`
              : `Show ${Math.min(PAGE, first)} earlier items`}
          </button>
        )}
        {items.map((item) => (
          <ItemView key={item.position} item={item} isMain={agent.agentId === MAIN_AGENT} />
        ))}
        {agent.draft !== undefined && <DraftView draft={agent.draft} />}
        {items.length === 0 && agent.draft === undefined && (
          <p className="dim">{stateOf(agent) === "idle" ? "Nothing has been said yet." : "Starting…"}</p>
        )}
      </div>
    </div>
  );
}

interface ItemViewProps {
  readonly item: Item;
  readonly isMain: boolean;
}

const ItemView = memo(function ItemView({ item, isMain }: ItemViewProps): ReactNode {
  switch (item.kind) {
    case "call":
      return <CallLine call={item} />;
    case "prompt":
      return <PromptView text={item.text} images={item.images} from={promptSource(item.from, isMain)} />;
    case "text":
      return (
        <div className="said">
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
      return <Folded title={`${plural(item.ended?.length ?? 0, "background agent")} reported`} text={item.text} />;
    case "notice":
      return <p className="note">{item.text}</p>;
    case "retry":
      return <p className="note">Trying again: {item.text}</p>;
    case "error":
      return <p className="note bad">{item.text}</p>;
    case "change":
      return <p className="note">{changeWords(item)}</p>;
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
      return <EndView item={item} />;
  }
});

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
  return `Conversation summarized: ${formatTokens(before)} tokens became ${formatTokens(after)}`;
}

function EndView({ item }: { readonly item: Extract<Item, { kind: "end" }> }): ReactNode {
  const { outcome, turns, costUsd, milliseconds, message } = item;
  return (
    <div className="end">
      <span className={`mark ${outcome}`}>{outcomeMarks[outcome]}</span>
      <span>{endWords(item)}</span>
      <span className="dim number">
        {plural(turns, "turn")} · {formatMs(milliseconds)} · {formatCost(costUsd)}
      </span>
      {outcome !== "succeeded" && message !== undefined && <p>{message}</p>}
    </div>
  );
}

/** The response that is being written. */
function DraftView({ draft: { parts, isPartial } }: { readonly draft: Draft }): ReactNode {
  return (
    <div className="draft" aria-busy="true">
      {isPartial && <p className="note">The beginning was written before this page was connected.</p>}
      {parts.map((part, index) => (
        <DraftPartView key={index} part={part} />
      ))}
    </div>
  );
}

/** Number of characters of the thinking to show. */
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
