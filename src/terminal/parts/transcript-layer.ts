import {
  type AgentView,
  activityWords,
  agentOf,
  type CallItem,
  elements,
  type Item,
  stateOf,
  tokensOf,
} from "../../client/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import type { App, Drawing, Layer, Space } from "../app.ts";
import { activitySpan, isAsking, openCall } from "../conversation/call-rows.ts";
import {
  isToldByEnd,
  type PrintedKind,
  printedItem,
  textColumns,
  thinkingRows,
  thousands,
} from "../conversation/item-rows.ts";
import { markdownRows } from "../conversation/markdown.ts";
import { hintRow } from "../frame.ts";
import type { Key } from "../screen/keys.ts";
import { agentSpan, type Row, span } from "../screen/row.ts";
import { cleanLine, cutBefore, spread, widthOf } from "../screen/text.ts";
import { actOnAgent, agentKeys, messageAgent } from "./agent-actions.ts";
import { allAgents, clock, dollars, elapsedOf, labelIn, markOf, nameOf } from "./agents-panel.ts";
import { createLineInput, type LineInput } from "./line-input.ts";

export interface TranscriptOptions {
  /** Shows each call's complete input and output from the start. */
  readonly isWhole?: boolean | undefined;
  /** Returns the agents that ← and → go to; all subagents by default. */
  readonly agents?: (() => readonly AgentView[]) | undefined;
  /** Called when the transcript is closed, with the agent that it showed last. */
  readonly onClose?: ((agentId: AgentId) => void) | undefined;
}

/** Shows an agent's conversation on the whole screen as it grows. */
export function openTranscript(app: App, first: AgentId, options: TranscriptOptions = {}): void {
  const { agents = () => allAgents(app.view), onClose } = options;
  let agentId = first;
  let { isWhole = false } = options;
  let input: LineInput | undefined;
  /** Number of rows that are scrolled out of view at the bottom. If 0, new rows appear as they are written. */
  let below = 0;
  let page = 10;
  let cache = new Map<number, { readonly item: Item; readonly rows: readonly Row[]; readonly kind: PrintedKind }>();
  let cachedColumns = 0;
  void app.watch(agentId);

  function show(next: AgentId): void {
    app.unwatch(agentId);
    agentId = next;
    below = 0;
    cache = new Map();
    void app.watch(agentId);
  }

  function neighbor(by: -1 | 1): void {
    const all = agents();
    const at = all.findIndex((each) => each.agentId === agentId);
    const next = all[at + by];
    if (next !== undefined) show(next.agentId);
  }

  function toggleWhole(): void {
    isWhole = !isWhole;
    below = 0;
    cache = new Map();
  }

  function close(): void {
    app.unwatch(agentId);
    app.close(layer);
    onClose?.(agentId);
  }

  const nameOfAgent = (id: AgentId): string => labelIn(app.view, id);

  function itemRows(agent: AgentView, columns: number): readonly Row[] {
    if (cachedColumns !== columns) cache = new Map();
    cachedColumns = columns;
    const itemOptions = { columns, isWhole, nameOf: nameOfAgent, user: app.user };
    const rows: Row[] = [];
    let last: PrintedKind | undefined;
    for (const item of elements(agent.items)) {
      if (isToldByEnd(item, agent)) continue;
      if (item.kind === "call" && item.result === undefined && stateOf(agent) !== "ended") {
        if (last !== undefined && last !== "call") rows.push([]);
        rows.push(openCallRow(item, { columns, cwd: agent.cwd }));
        last = "call";
        continue;
      }
      const known = cache.get(item.position);
      const printed = known?.item === item ? known : printedItem(item, itemOptions);
      if (printed === undefined || printed.rows.length === 0) continue;
      cache.set(item.position, { item, ...printed });
      if (last !== undefined && (last !== printed.kind || last === "text" || last === "prompt")) rows.push([]);
      rows.push(...printed.rows);
      last = printed.kind;
    }
    const writing = agent.draft?.parts.findLast(({ kind }) => kind === "text");
    if (writing?.kind === "text") rows.push([], ...markdownRows(writing.text, textColumns(columns)));
    const thinking = agent.draft?.parts.at(-1);
    if (thinking?.kind === "thinking") rows.push([], ...thinkingRows(thinking.text, itemOptions));
    return rows;
  }

  function draw({ columns, rows }: Space): Drawing {
    const agent = agentOf(app.view, agentId);
    if (agent === undefined) return { rows: [[span("  Unknown agent.", "dim")]] };
    const rule: Row = [span("─".repeat(columns - 1), "dim")];
    const line = input?.draw(columns);
    const head = headRows(agent, app, columns);
    const requests = app.requestRows(columns);
    page = Math.max(1, rows - head.length - requests.length - (line?.rows.length ?? 1) - 2);
    const all = itemRows(agent, columns);
    below = Math.max(0, Math.min(below, all.length - page));
    const foot = [...requests, ...(line?.rows ?? [keysRow(agent, columns)])];
    const end = all.length - below;
    const shown = all.slice(Math.max(0, end - page), end);
    const blank = Array.from({ length: page - shown.length }, (): Row => []);
    const above = [...head, rule, ...shown, ...blank, rule];
    const before = above.length + foot.length - (line?.rows.length ?? 1);
    return {
      rows: [...above, ...foot],
      cursor: line?.cursor && { row: before + line.cursor.row, column: line.cursor.column },
    };
  }

  function keysRow(agent: AgentView, columns: number): Row {
    const acts = agent.agentId === MAIN_AGENT ? [] : agentKeys(agent);
    const others = agents().some((each) => each.agentId !== agentId) ? ["←→ agents"] : [];
    const calls = isWhole ? "Ctrl+O short calls" : "Ctrl+O whole calls";
    const keys = ["Esc back", ...others, ...acts, calls, "↑↓ scroll"];
    const mode = below > 0 ? span(`${below} rows below`, "warn") : undefined;
    return hintRow({ keys, mode, facts: [] }, columns);
  }

  function key(pressed: Key): boolean {
    if (input !== undefined) {
      const result = input.key(pressed);
      const text = input.text.trim();
      if (result !== "edited") input = undefined;
      if (result === "done" && text !== "") messageAgent(app, agentId, text);
      return true;
    }
    const name = pressed.kind === "key" ? pressed.name : pressed.text;
    const agent = agentOf(app.view, agentId);
    if (name === "up" || name === "k") below += 1;
    else if (name === "down" || name === "j") below -= 1;
    else if (name === "pageup") below += page;
    else if (name === "pagedown" || name === " ") below -= page;
    else if (name === "home" || name === "g") below = Number.MAX_SAFE_INTEGER;
    else if (name === "end" || name === "G") below = 0;
    else if (name === "ctrl-o") toggleWhole();
    else if (name === "tab") app.showRequest();
    else if (name === "left") neighbor(-1);
    else if (name === "right") neighbor(1);
    else if (["esc", "q", "ctrl-c"].includes(name)) close();
    else if (agentId === MAIN_AGENT) return true;
    else if (name === "m" && agent !== undefined) input = createLineInput(`to ${nameOf(agent)}: `);
    else if (agent !== undefined) actOnAgent(app, agent, { key: name === "ctrl-b" ? "b" : name });
    return true;
  }

  const layer: Layer = { draw, key, keys: [], isFull: true };
  app.open(layer);
}

/** Returns the row for a call that has no result yet: one that is waiting for the user, or one that is running. */
function openCallRow(
  item: CallItem,
  { columns, cwd }: { readonly columns: number; readonly cwd: string | undefined },
): Row {
  return cutBefore(
    openCall(item, cwd),
    isAsking(item) ? [span("  waiting for you · Tab answers", "warn")] : [],
    columns - 1,
  );
}

function headRows(agent: AgentView, app: App, columns: number): readonly Row[] {
  const { usage, costUsd = 0, turns, maxTurns, model, path } = agent;
  const names = path.map((each) => {
    const found = agentOf(app.view, each);
    return found === undefined ? each : nameOf(found);
  });
  const above = ["main", ...names]
    .slice(0, -1)
    .map((each) => `${each} › `)
    .join("");
  const elapsed = clock(elapsedOf(agent, app.now()));
  const all = [
    elapsed,
    `turn ${turns}${maxTurns === undefined ? "" : ` of ${maxTurns}`}`,
    `${thousands(tokensOf(usage))} tokens`,
    ...(costUsd > 0 ? [dollars(costUsd)] : []),
    model,
  ];
  const state = activitySpan(`    ${activityWords(agent)}`);
  // The agent's activity is not cut to make room for figures.
  const room = columns - widthOf(state.text) - 3;
  const figures = all.filter((_, index) => widthOf(all.slice(0, index + 1).join(" · ")) <= room);
  return [
    spread(
      [
        span("  "),
        markOf(agent),
        span(` ${above}`, "bold"),
        agentSpan(names.at(-1) ?? "main", agent.color, "bold"),
        span(`  ${cleanLine(agent.description)}`, "dim"),
      ],
      agent.agentId === MAIN_AGENT ? [] : [span(agent.agentId, "dim")],
      columns - 1,
    ),
    spread([state], [span(figures.join(" · "), "dim")], columns - 1),
  ];
}
