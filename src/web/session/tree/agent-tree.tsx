import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { type AgentView, type SessionView, stateOf } from "../../../client/index.ts";
import { formatCount } from "../../../lib/portable.ts";
import type { AgentId } from "../../../protocol/index.ts";
import { ColorMark } from "../../parts/color-mark.tsx";
import { Signs } from "../../parts/exact-text.tsx";
import { AT_MOST, formatAge, formatCost } from "../../parts/format.ts";
import { useNow } from "../../state/clock.ts";
import { goTo } from "../../state/route.ts";
import { doingWords, nameOf, toneOf, typeOf } from "../agent/agent-words.ts";
import { useSessionId } from "../session-context.ts";
import type { AgentRow, GroupRow, TreeRow } from "./tree-rows.ts";

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
  /** Called when the user has clicked an agent. */
  readonly onOpen: () => void;
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
  onOpen,
  search,
  onSearch,
  liveAt,
}: AgentTreeProps): ReactNode {
  const id = useSessionId();
  /** Key of the group that has the keyboard focus; undefined if the selected agent has it. */
  const [groupKey, setGroupKey] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  const isSearched = search.trim() !== "";
  const isNarrow = useMedia(NARROW);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => heightOf(rows[at], isNarrow),
    // A new function makes the list recompute the positions of its rows.
    getItemKey: useCallback((at: number) => rowId(rows[at]), [rows, isNarrow]),
    overscan: 8,
  });
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
    goTo({ page: "session", id, agent: agent.agentId });
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
        className={active === undefined ? "tree" : "tree has-active"}
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label="Agents"
        aria-activedescendant={active && rowId(active)}
        onKeyDown={onKeyDown}
      >
        <div className="tree-inner" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index: at, start, size }) => {
            const row = rows[at];
            if (row === undefined) return null;
            return row.kind === "group" ? (
              <GroupLine
                key={row.key}
                row={row}
                top={start}
                height={size}
                isActive={row === active}
                onToggle={() => {
                  setGroupKey(row.key);
                  onToggle(row);
                }}
              />
            ) : (
              <AgentLine
                key={row.agent.agentId}
                agent={row.agent}
                parent={row.parent}
                level={row.level}
                form={row.form}
                top={start}
                height={size}
                liveAt={liveAt.get(row.agent.agentId) ?? 0}
                isSelected={row.agent.agentId === selected}
                isActive={row === active}
                onSelect={() => {
                  select(row.agent);
                  onOpen();
                }}
              />
            );
          })}
        </div>
      </div>
    </>
  );
}

/** Returns the height of a row in pixels. On narrow screens, an agent's type has its own line. */
function heightOf(row: TreeRow | undefined, isNarrow: boolean): number {
  if (row?.kind !== "agent") return 48;
  if (row.form === "line") return 28;
  return isNarrow && row.form === "whole" && typeOf(row.agent) !== "" ? 68 : 48;
}

/** Returns the id of a row's element. */
function rowId(row: TreeRow | undefined): string {
  if (row === undefined) return "";
  return row.kind === "agent" ? `agent-${row.agent.agentId}` : `group-${row.key.replaceAll(/\s/g, "-")}`;
}

interface GroupLineProps {
  readonly row: GroupRow;
  readonly top: number;
  readonly height: number;
  /** Whether the group has the keyboard focus. */
  readonly isActive: boolean;
  readonly onToggle: () => void;
}

function GroupLine({ row, top, height, isActive, onToggle }: GroupLineProps): ReactNode {
  const { state, type, members, isOpen } = row;
  const [first] = members;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names the active item
    <div
      id={rowId(row)}
      role="treeitem"
      aria-level={1}
      aria-expanded={isOpen}
      aria-selected={false}
      className={`tree-row group-row${isActive ? " active" : ""}`}
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={onToggle}
    >
      <span className="chevron" aria-hidden="true">
        {isOpen ? "▾" : "▸"}
      </span>
      <span className="who">
        <b>{type}</b>
      </span>{" "}
      <span className={`doing ${first === undefined ? "" : toneOf(first)}`}>{state}</span>{" "}
      <span className="number count">{formatCount(members.length)}</span>{" "}
      <span className="number dim">
        {formatCost(
          costOf(members),
          members.some(({ isCostAtMost }) => isCostAtMost),
        )}
      </span>
    </div>
  );
}

/** Returns the cost of all members, or undefined if one of them is unknown. */
function costOf(members: readonly AgentView[]): number | undefined {
  return members.reduce<number | undefined>(
    (sum, { costUsd }) => (sum === undefined || costUsd === undefined ? undefined : sum + costUsd),
    0,
  );
}

interface AgentLineProps extends Pick<AgentRow, "agent" | "parent" | "level" | "form"> {
  readonly top: number;
  readonly height: number;
  readonly liveAt: number;
  readonly isSelected: boolean;
  /** Whether the agent has the keyboard focus. */
  readonly isActive: boolean;
  readonly onSelect: () => void;
}

const AgentLine = memo(function AgentLine(props: AgentLineProps): ReactNode {
  const { agent, parent, level, form, top, height, liveAt, isSelected, isActive, onSelect } = props;
  const now = useNow();
  const state = stateOf(agent);
  const isOver = state === "ended" || state === "idle";
  const type = form === "whole" ? typeOf(agent) : "";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names the active item
    <div
      id={`agent-${agent.agentId}`}
      role="treeitem"
      aria-selected={isSelected}
      aria-level={level + 1}
      className={`tree-row agent-row${isActive ? " active" : ""}`}
      style={{ transform: `translateY(${top}px)`, height, paddingLeft: 16 + 12 * Math.min(level, 6) }}
      title={nameOf(agent)}
      onClick={onSelect}
    >
      <span className={`dot ${toneOf(agent)}`} aria-hidden="true" />
      <span className="who">
        <ColorMark color={agent.color} />
        <b>{nameOf(agent)}</b> <span className="dim type">{type}</span>
      </span>
      <span className="number dim" title={agent.isCostAtMost && AT_MOST}>
        {formatCost(agent.costUsd, agent.isCostAtMost)}
      </span>
      {form !== "line" && (
        <>
          <span className={isOver ? "doing ended" : "doing"}>
            {type !== "" && <span className="narrow-type">{`${type}\n`}</span>}
            {parent !== undefined && `for ${nameOf(parent)}${form === "grouped" && isOver ? "" : ": "}`}
            {!(parent !== undefined && form === "grouped" && isOver) && <Signs text={doingWords(agent)} />}
            {agent.background && !isOver && ", in the background"}
          </span>
          {!isOver && (
            <span className="number dim" title="Time since the last event">
              {formatAge(now - Math.max(agent.lastEventAt, liveAt))}
            </span>
          )}
        </>
      )}
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
