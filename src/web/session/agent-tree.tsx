import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type AgentView, activityWords, inTreeOrder, type SessionView, stateOf } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { Signs } from "../parts/exact-text.tsx";
import { formatAge, formatCost } from "../parts/format.ts";
import { useNow } from "../state/clock.ts";
import { goTo } from "../state/route.ts";
import { nameOf, toneOf, typeOf } from "./agent-words.ts";

const ROW = 48;
/** Number of agents from which searching is easier than looking. */
const MANY = 12;

interface AgentTreeProps {
  readonly view: SessionView;
  readonly selected: AgentId;
}

/** The agents of a session as a tree, with what each one is doing. Only the visible rows are drawn. */
export function AgentTree({ view, selected }: AgentTreeProps): ReactNode {
  const [search, setSearch] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const agents = useMemo(() => {
    const all = inTreeOrder(view);
    const word = search.trim().toLowerCase();
    return word === "" ? all : all.filter((agent) => searchText(agent).includes(word));
  }, [view, search]);
  const rows = useVirtualizer({
    count: agents.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const index = agents.findIndex(({ agentId }) => agentId === selected);
  useEffect(() => {
    if (index >= 0) rows.scrollToIndex(index, { align: "auto" });
  }, [index, rows]);

  const select = (to: number): void => {
    const agent = agents[Math.max(0, Math.min(agents.length - 1, to))];
    if (agent !== undefined && view.sessionId !== undefined)
      goTo({ page: "session", id: view.sessionId, agent: agent.agentId });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, number>> = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: 1e9 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(to);
  };
  return (
    <>
      <h2>
        Agents <span className="count">{view.agents.length}</span>
      </h2>
      {view.agents.length > MANY && (
        <input
          type="search"
          className="tree-search"
          aria-label="Search agents"
          placeholder="Search by type, task or state"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
      )}
      <div
        className="tree"
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label="Agents"
        aria-activedescendant={index >= 0 ? `agent-${selected}` : undefined}
        onKeyDown={onKeyDown}
      >
        <div className="tree-inner" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index: at, start }) => {
            const agent = agents[at];
            return agent === undefined ? null : (
              <AgentRow
                key={agent.agentId}
                agent={agent}
                top={start}
                isSelected={agent.agentId === selected}
                onSelect={() => select(at)}
              />
            );
          })}
        </div>
      </div>
    </>
  );
}

function searchText(agent: AgentView): string {
  return `${agent.agentType} ${agent.name} ${agent.description} ${agent.agentId} ${activityWords(agent)}`.toLowerCase();
}

interface AgentRowProps {
  readonly agent: AgentView;
  readonly top: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

const AgentRow = memo(function AgentRow({ agent, top, isSelected, onSelect }: AgentRowProps): ReactNode {
  const now = useNow();
  const state = stateOf(agent);
  const isOver = state === "ended" || state === "idle";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names the active item
    <div
      id={`agent-${agent.agentId}`}
      role="treeitem"
      aria-selected={isSelected}
      aria-level={agent.path.length + 1}
      className="agent-row"
      style={{ transform: `translateY(${top}px)`, paddingLeft: 16 + 16 * Math.min(agent.path.length, 6) }}
      onClick={onSelect}
    >
      <span className={`dot ${toneOf(agent)}`} aria-hidden="true" />
      <span className="who">
        <b>{nameOf(agent)}</b> <span className="dim">{typeOf(agent)}</span>
      </span>
      <span className="number dim">{formatCost(agent.costUsd)}</span>
      <span className="doing">
        <Signs text={activityWords(agent)} />
        {agent.background && !isOver && ", in the background"}
      </span>
      <span className="number dim" title="Time since the last event">
        {isOver ? "" : formatAge(now - agent.lastEventAt)}
      </span>
    </div>
  );
});
