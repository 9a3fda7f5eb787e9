import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { type AgentView, type SessionView, stateOf } from "../../client/index.ts";
import { formatCount } from "../../lib/portable.ts";
import type { AgentId } from "../../protocol/index.ts";
import { Signs } from "../parts/exact-text.tsx";
import { formatAge, formatCost } from "../parts/format.ts";
import { useNow } from "../state/clock.ts";
import { goTo } from "../state/route.ts";
import { doingWords, nameOf, toneOf, typeOf } from "./agent-words.ts";
import { FEW, type GroupRow, type TreeRow } from "./tree-rows.ts";

/** Heights of rows with two lines of text, with three on narrow screens, and with one. */
const ROW = 48;
const HIGH_ROW = 68;
const LOW_ROW = 28;
const NARROW = "(max-width: 1199px)";
/** Number of agents above which a search field is shown. */
const MANY = 12;

interface AgentTreeProps {
  readonly view: SessionView;
  /** Number of agents that the search has found. */
  readonly found: number;
  readonly rows: readonly TreeRow[];
  readonly onToggle: (group: GroupRow) => void;
  readonly selected: AgentId;
  readonly search: string;
  readonly onSearch: (search: string) => void;
  /** Times of the last live events. */
  readonly liveAt: ReadonlyMap<AgentId, number>;
}

/** Shows a session's agents as a tree, with what each one is doing. Only the visible rows are drawn. */
export function AgentTree({
  view,
  found,
  rows,
  onToggle,
  selected,
  search,
  onSearch,
  liveAt,
}: AgentTreeProps): ReactNode {
  /** Key of the group that the keyboard applies to, if it does not apply to the selected agent. */
  const [groupKey, setGroupKey] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  const isSearched = search.trim() !== "";
  const isLow = view.agents.length > FEW;
  const isNarrow = useMedia(NARROW);
  const height = isLow ? LOW_ROW : isNarrow ? HIGH_ROW : ROW;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 8,
  });
  useEffect(() => virtual.measure(), [height, virtual]);
  const groupIndex = rows.findIndex((row) => row.kind === "group" && row.key === groupKey);
  const agentIndex = rows.findIndex((row) => row.kind === "agent" && row.agent.agentId === selected);
  const index = groupIndex >= 0 ? groupIndex : agentIndex;
  const active = rows[index];
  useEffect(() => setGroupKey(undefined), [selected]);
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index, { align: "auto" });
  }, [index, virtual]);

  const select = (agent: AgentView): void => {
    setGroupKey(undefined);
    if (view.sessionId !== undefined) goTo({ page: "session", id: view.sessionId, agent: agent.agentId });
  };
  const goToRow = (at: number): void => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at))];
    if (row?.kind === "group") setGroupKey(row.key);
    else if (row !== undefined) select(row.agent);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const group = active?.kind === "group" ? active : undefined;
    const heading = rows.findLastIndex((row, at) => row.kind === "group" && at < index);
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => goToRow(index + 1),
      ArrowUp: () => goToRow(index - 1),
      Home: () => goToRow(0),
      End: () => goToRow(rows.length - 1),
      ArrowRight: () => group !== undefined && (group.isOpen ? goToRow(index + 1) : onToggle(group)),
      ArrowLeft: () => (group === undefined ? heading >= 0 && goToRow(heading) : group.isOpen && onToggle(group)),
      Enter: () => group !== undefined && onToggle(group),
      " ": () => group !== undefined && onToggle(group),
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  };
  const all = view.agents.length;
  return (
    <>
      <h2>
        Agents{" "}
        <span className="count">{isSearched ? `${formatCount(found)} of ${formatCount(all)}` : formatCount(all)}</span>
      </h2>
      {all > MANY && (
        <input
          type="search"
          className="tree-search"
          aria-label="Search agents"
          placeholder="Search by type, task or state"
          value={search}
          onChange={({ target }) => onSearch(target.value)}
        />
      )}
      {rows.length === 0 && isSearched && <p className="dim tree-none">No agent matches.</p>}
      <div
        className={`tree${isLow ? " low" : ""}`}
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label="Agents"
        aria-activedescendant={active && rowId(active)}
        onKeyDown={onKeyDown}
      >
        <div className="tree-inner" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index: at, start }) => {
            const row = rows[at];
            if (row === undefined) return null;
            return row.kind === "group" ? (
              <GroupLine
                key={row.key}
                row={row}
                top={start}
                isActive={row === active}
                onToggle={() => {
                  setGroupKey(row.key);
                  onToggle(row);
                }}
              />
            ) : (
              <AgentRow
                key={row.agent.agentId}
                agent={row.agent}
                level={row.level}
                top={start}
                liveAt={liveAt.get(row.agent.agentId) ?? 0}
                isSelected={row.agent.agentId === selected}
                onSelect={() => select(row.agent)}
              />
            );
          })}
        </div>
      </div>
    </>
  );
}

/** Returns the id of a row's element. */
function rowId(row: TreeRow): string {
  return row.kind === "agent" ? `agent-${row.agent.agentId}` : `group-${row.key.replaceAll(/\s/g, "-")}`;
}

interface GroupRowProps {
  readonly row: GroupRow;
  readonly top: number;
  /** Whether the keyboard applies to the group. */
  readonly isActive: boolean;
  readonly onToggle: () => void;
}

function GroupLine({ row, top, isActive, onToggle }: GroupRowProps): ReactNode {
  const { state, type, members, isOpen } = row;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names the active item
    <div
      id={rowId(row)}
      role="treeitem"
      aria-level={1}
      aria-expanded={isOpen}
      aria-selected={false}
      className={`group-row${isActive ? " active" : ""}`}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onToggle}
    >
      <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
      <span className="who">
        {type} <span className="dim">{state}</span>
      </span>
      <span className="number dim">{formatCount(members.length)}</span>
    </div>
  );
}

interface AgentRowProps {
  readonly agent: AgentView;
  readonly level: number;
  readonly top: number;
  readonly liveAt: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

const AgentRow = memo(function AgentRow({ agent, level, top, liveAt, isSelected, onSelect }: AgentRowProps): ReactNode {
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
      aria-level={level + 1}
      className="agent-row"
      style={{ transform: `translateY(${top}px)`, paddingLeft: 16 + 16 * Math.min(level, 6) }}
      onClick={onSelect}
    >
      <span className={`dot ${toneOf(agent)}`} aria-hidden="true" />
      <span className="who">
        <b>{nameOf(agent)}</b> <span className="dim type">{typeOf(agent)}</span>
      </span>
      <span className="number dim">{formatCost(agent.costUsd)}</span>
      <span className="doing">
        {typeOf(agent) !== "" && <span className="narrow-type">{`${typeOf(agent)}\n`}</span>}
        <Signs text={doingWords(agent)} />
        {agent.background && !isOver && ", in the background"}
      </span>
      <span className="number dim age" title="Time since the last event">
        {isOver ? "" : formatAge(now - Math.max(agent.lastEventAt, liveAt))}
      </span>
    </div>
  );
});

/** Returns whether a media query matches now. */
function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}
