import { type KeyboardEvent, type PointerEvent, type ReactNode, useMemo, useState } from "react";
import {
  agentOf,
  type SessionUsage,
  type SessionView,
  tokensOf,
  totalsOf,
  type UsedTurns,
} from "../../../client/index.ts";
import { plural } from "../../../lib/portable.ts";
import { formatCost, formatSum, formatTokens } from "../../parts/format.ts";
import { goTo } from "../../state/route.ts";
import { nameOf } from "../agent/agent-words.ts";
import { focusedCall } from "../conversation/focused-call.ts";
import { showRegion } from "../places.ts";
import { useSessionId } from "../session-context.ts";

interface UsageChartProps {
  /** Buttons that choose what the region shows. */
  readonly tabs: ReactNode;
  readonly view: SessionView;
  readonly usage: SessionUsage;
  /** Maximum cost of the session. */
  readonly maxCost: number | undefined;
}

/** Height of the drawing in its own units. It is stretched to the size of the region. */
const HEIGHT = 100;

/** Shows each turn's tokens as stacked bars, and the cost so far as a line. Clicking a bar shows its turn. */
export function UsageChart({ tabs, view, usage, maxCost }: UsageChartProps): ReactNode {
  const id = useSessionId();
  const [chosen, setChosen] = useState<number>();
  const { turns, total, costUsd } = usage;
  const totals = useMemo(() => totalsOf(view), [view]);
  const most = useMemo(() => Math.max(1, ...turns.map((each) => tokensOf(each.usage))), [turns]);
  if (turns.length === 0)
    return (
      <>
        <div className="time-head">{tabs}</div>
        <p className="dim usage-empty">No turn has ended yet.</p>
      </>
    );
  const highest = Math.max(costUsd, maxCost ?? 0);
  const top = highest * 1.05 || 1;
  const open = (index: number): void => {
    const turn = turns[index];
    if (turn === undefined) return;
    showRegion("talk");
    focusedCall.set(turn.callId);
    goTo({ page: "session", id, agent: turn.agentId });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = turns.length - 1;
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: Math.max(0, (chosen ?? turns.length) - 1),
      ArrowRight: Math.min(last, (chosen ?? -1) + 1),
      Home: 0,
      End: last,
    };
    const next = steps[event.key];
    if (next !== undefined) setChosen(next);
    else if (event.key === "Enter" && chosen !== undefined) open(chosen);
    else return;
    event.preventDefault();
  };
  const indexAt = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(turns.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * turns.length)));
  };
  const shown = chosen === undefined ? undefined : turns[chosen];
  return (
    <div className="usage">
      <div className="time-head">
        {tabs}
        <span className="key cache">from cache</span>
        <span className="key fresh">new input</span>
        <span className="key output">output</span>
        <span className="key cost">cost so far</span>
        {maxCost !== undefined && <span className="key limit">budget</span>}
      </div>
      <p className="usage-words">
        {cacheWords(usage)}{" "}
        <span className="dim">
          {plural(
            turns.reduce((sum, { count }) => sum + count, 0),
            "turn",
          )}
          , {formatTokens(tokensOf(total))} tokens, {formatSum({ ...totals, costUsd })}
          {maxCost !== undefined && ` of ${formatCost(maxCost)}`}
        </span>
      </p>
      <div
        className="usage-plot"
        role="listbox"
        aria-label="Turns. The arrow keys choose one, Enter shows it."
        aria-activedescendant={chosen === undefined ? undefined : `used-${chosen}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => setChosen(indexAt(event))}
        onPointerLeave={() => setChosen(undefined)}
        onClick={(event) => open(indexAt(event as unknown as PointerEvent))}
      >
        <svg viewBox={`0 0 ${turns.length} ${HEIGHT}`} preserveAspectRatio="none" role="presentation">
          {turns.map((each, index) => (
            <Bar
              key={index}
              index={index}
              turn={each}
              most={most}
              isChosen={index === chosen}
              label={wordsOf(each, view)}
            />
          ))}
          {maxCost !== undefined && (
            <path
              className="limit-line"
              d={`M0 ${yOf(maxCost, top)}H${turns.length}`}
              vectorEffect="non-scaling-stroke"
            />
          )}
          <path className="cost-line" d={costPath(turns, top)} vectorEffect="non-scaling-stroke" />
        </svg>
        <span className="usage-most dim number" aria-hidden="true">
          {formatTokens(most)}
        </span>
        <span className="usage-top dim number" aria-hidden="true">
          {highest > 0 && formatCost(highest)}
        </span>
      </div>
      <p className="usage-tip dim" role="status">
        {shown === undefined ? "Choose a bar to see its turn." : wordsOf(shown, view)}
      </p>
    </div>
  );
}

interface BarProps {
  readonly index: number;
  readonly turn: UsedTurns;
  readonly most: number;
  readonly isChosen: boolean;
  readonly label: string;
}

function Bar({ index, turn, most, isChosen, label }: BarProps): ReactNode {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = turn.usage;
  let y = HEIGHT;
  const parts = [
    { name: "cache", tokens: cacheReadTokens },
    { name: "fresh", tokens: inputTokens + cacheWriteTokens },
    { name: "output", tokens: outputTokens },
  ].map(({ name, tokens }) => {
    const height = (HEIGHT * 0.92 * tokens) / most;
    y -= height;
    return { name, y, height };
  });
  return (
    <g role="option" id={`used-${index}`} aria-selected={isChosen} aria-label={label}>
      {isChosen && <rect className="chosen" x={index} y={0} width={1} height={HEIGHT} />}
      {parts.map((part) => (
        <rect
          key={part.name}
          className={part.name}
          x={index + 0.12}
          y={part.y}
          width={0.76}
          height={Math.max(0, part.height)}
        />
      ))}
    </g>
  );
}

function yOf(cost: number, top: number): number {
  return HEIGHT - (HEIGHT * cost) / top;
}

/** The cost grows in steps, at the end of each turn. */
function costPath(turns: readonly UsedTurns[], top: number): string {
  let sum = 0;
  const steps = turns.map(({ costUsd }, index) => {
    sum += costUsd;
    return `H${index + 0.5}V${yOf(sum, top).toFixed(2)}`;
  });
  return `M0 ${HEIGHT}${steps.join("")}H${turns.length}`;
}

function cacheWords({ total: { inputTokens, cacheReadTokens, cacheWriteTokens } }: SessionUsage): string {
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  if (input === 0) return "The provider reports no input tokens.";
  if (cacheReadTokens === 0) return "None of the input was read from the provider's cache.";
  return `${Math.round((100 * cacheReadTokens) / input)} % of the input was read from the provider's cache.`;
}

function wordsOf(used: UsedTurns, view: SessionView): string {
  const { agentId, turn, count, usage, costUsd, hasUnknownCost, isCostAtMost = false } = used;
  const agent = agentOf(view, agentId);
  const who = agent === undefined ? agentId : nameOf(agent);
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  const what = count === 1 ? `turn ${turn}` : `turn ${turn} and ${count - 1} more`;
  const tokens = `${formatTokens(cacheReadTokens)} from cache, ${formatTokens(inputTokens + cacheWriteTokens)} new, ${formatTokens(outputTokens)} out`;
  const cost = formatSum({ costUsd, isCostKnown: !hasUnknownCost, isCostAtMost });
  const lost = isCostAtMost ? (count === 1 ? " (response lost)" : " (some responses lost)") : "";
  return `${who}, ${what}${lost}: ${tokens}, ${cost}`;
}
