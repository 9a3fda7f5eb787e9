import { type AgentView, agentOf, stateOf } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { App, Drawing, Layer, Space } from "../app.ts";
import type { Key } from "../screen/keys.ts";
import { span } from "../screen/row.ts";
import { cut } from "../screen/text.ts";
import { actOnAgent, agentKeys, messageAgent } from "./agent-actions.ts";
import { allAgents, labelOf, nameOf, panelRows } from "./agents-panel.ts";
import { createHeldKey } from "./held-key.ts";
import { createLineInput, type LineInput } from "./line-input.ts";
import { openTranscript } from "./transcript-layer.ts";

/** Lets the user navigate the tree of agents, open their transcripts and steer them. Does nothing if there are none. */
export function openAgentsLayer(app: App): void {
  let filter = "";
  let input: { readonly purpose: "message" | "search"; readonly line: LineInput } | undefined;
  const held = createHeldKey(app);
  let selected = firstSelected(allAgents(app.view))?.agentId;
  if (selected === undefined) return;

  function listed(): readonly AgentView[] {
    const wanted = filter.toLowerCase();
    const all = allAgents(app.view);
    if (wanted === "") return all;
    return all.filter((agent) =>
      `${nameOf(agent)} ${agent.description} ${agent.agentId}`.toLowerCase().includes(wanted),
    );
  }

  function agent(): AgentView | undefined {
    return selected === undefined ? undefined : agentOf(app.view, selected);
  }

  function move(by: number): void {
    const all = listed();
    const at = all.findIndex(({ agentId }) => agentId === selected);
    selected = all[Math.max(0, Math.min(all.length - 1, at + by))]?.agentId;
  }

  /** Opens a transcript. When it is closed, the agent that it showed last is selected. */
  function open(agentId: AgentId): void {
    openTranscript(app, agentId, {
      agents: listed,
      onClose: (closed) => {
        selected = closed;
      },
    });
  }

  function finishInput({ purpose, line }: NonNullable<typeof input>): void {
    input = undefined;
    const text = line.text.trim();
    if (purpose === "search") {
      filter = text;
      move(0);
    } else if (selected !== undefined && text !== "") messageAgent(app, selected, text);
  }

  function draw({ columns, rows }: Space): Drawing {
    const line = input?.line.draw(columns);
    const all = listed();
    const left = rows - (line?.rows.length ?? 0);
    const isNoted = filter !== "" && input?.purpose !== "search" && left > 1;
    const note = isNoted ? [[span(`  only those that match “${filter}” · Esc shows all`, "warn")]] : [];
    const room = left - note.length;
    const panel = panelRows(app.view, { columns: columns - 1, rows: room, now: app.now(), selected, listed: all });
    const shown = all.length > 0 ? [...note, ...panel] : [[span(`  No agent matches “${filter}”.`, "dim")]];
    return {
      rows: [...shown, ...(line?.rows ?? [])],
      cursor: line?.cursor && { row: shown.length + line.cursor.row, column: line.cursor.column },
    };
  }

  /**
   * Passes text that has no meaning here on to the prompt box, together with the preceding letter. Returns whether it
   * did.
   */
  function isPrompt({ kind, text }: Exclude<Key, { kind: "key" }>): boolean {
    const before = held.take();
    const isCommand = before === "" && kind === "text" && "m/qsrb".includes(text) && text.length === 1;
    if (isCommand) return false;
    typeInBox(`${before}${text}`);
    return true;
  }

  function typeInBox(text: string): void {
    app.close(layer);
    app.type(text);
  }

  function key(pressed: Key): boolean {
    if (input !== undefined) {
      const result = input.line.key(pressed);
      if (result === "done") finishInput(input);
      else if (result === "back") {
        if (input.purpose === "search") filter = "";
        else if (input.line.text !== "") app.type(input.line.text);
        input = undefined;
      } else if (input.purpose === "search") {
        filter = input.line.text.trim();
        move(0);
      }
      return true;
    }
    const current = agent();
    const name = pressed.kind === "key" ? pressed.name : pressed.text;
    if (pressed.kind !== "key" && isPrompt(pressed)) return true;
    if (pressed.kind === "key") held.take();
    if (name === "up") move(-1);
    else if (name === "down") move(1);
    else if (name === "pageup") move(-10);
    else if (name === "pagedown") move(10);
    else if (name === "home") move(Number.NEGATIVE_INFINITY);
    else if (name === "end") move(Number.POSITIVE_INFINITY);
    else if (name === "enter" && current !== undefined) open(current.agentId);
    else if (name === "m" && current !== undefined)
      held.press(name, () => {
        input = { purpose: "message", line: createLineInput(`to ${cut(labelOf(current), MAX_LABEL)}: `) };
      });
    else if (name === "/") input = { purpose: "search", line: createLineInput("search: ", filter) };
    else if (name === "esc" && filter !== "") filter = "";
    else if (["esc", "tab", "ctrl-c"].includes(name)) {
      app.close(layer);
      if (name === "tab") app.showRequest();
    } else if (name === "q") held.press("q", () => app.close(layer));
    else if (name === "ctrl-b" && current !== undefined) actOnAgent(app, current, { key: "b" });
    else if (pressed.kind === "text" && current !== undefined)
      held.press(name, () => void actOnAgent(app, current, { key: name, onType: typeInBox }));
    return true;
  }

  const layer: Layer = {
    draw,
    key,
    hasAgents: true,
    get keys() {
      if (input !== undefined)
        return [input.purpose === "message" ? "Enter sends" : "Enter keeps the filter", "Esc back"];
      const current = agent();
      return ["↑↓ choose", "Enter opens", ...(current ? agentKeys(current) : []), "/ search", "Esc back"];
    },
  };
  app.open(layer);
}

/** Maximum number of columns for an agent's name and task, which are shown before a message to it. */
const MAX_LABEL = 40;

/**
 * Returns the agent that the user most likely wants: one that is waiting for the user, or else one that is working, or
 * else the last one.
 */
function firstSelected(agents: readonly AgentView[]): AgentView | undefined {
  const inState = (...states: readonly string[]): AgentView | undefined =>
    agents.find((agent) => states.includes(stateOf(agent)));
  return inState("waitingForApproval") ?? inState("running", "delayed") ?? inState("waitingForAgents") ?? agents.at(-1);
}
