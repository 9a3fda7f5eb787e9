import { type AgentView, agentOf } from "../../client/index.ts";
import type { App, Drawing, Layer, Space } from "../app.ts";
import type { Key } from "../screen/keys.ts";
import { span } from "../screen/row.ts";
import { actOnAgent, agentKeys } from "./agent-actions.ts";
import { allAgents, nameOf, panelRows } from "./agents-panel.ts";
import { createLineInput, type LineInput } from "./line-input.ts";
import { openTranscript } from "./transcript-layer.ts";

/** Lets the user move in the tree of agents, open their transcripts and steer them. Does nothing if there are none. */
export function openAgentsLayer(app: App): void {
  let filter = "";
  let input: { readonly purpose: "message" | "search"; readonly line: LineInput } | undefined;
  let selected = listed()[0]?.agentId;
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

  function finishInput({ purpose, line }: NonNullable<typeof input>): void {
    input = undefined;
    const text = line.text.trim();
    if (purpose === "search") {
      filter = text;
      move(0);
    } else if (selected !== undefined && text !== "")
      void app.send({ type: "prompt", to: selected, content: [{ type: "text", text }], when: "now" });
  }

  function draw({ columns, rows }: Space): Drawing {
    const line = input?.line.draw(columns);
    const room = rows - (line?.rows.length ?? 0);
    const now = app.now();
    const panel = panelRows(app.view, { columns: columns - 1, rows: room, now, selected, listed: listed() });
    const shown = panel.length > 0 ? panel : [[span(`  No agent matches “${filter}”.`, "dim")]];
    return {
      rows: [...shown, ...(line?.rows ?? [])],
      cursor: line?.cursor && { row: shown.length + line.cursor.row, column: line.cursor.column },
    };
  }

  function key(pressed: Key): boolean {
    if (input !== undefined) {
      const result = input.line.key(pressed);
      if (result === "done") finishInput(input);
      else if (result === "back") input = undefined;
      return true;
    }
    const current = agent();
    const name = pressed.kind === "key" ? pressed.name : pressed.text;
    if (name === "up") move(-1);
    else if (name === "down") move(1);
    else if (name === "pageup") move(-10);
    else if (name === "pagedown") move(10);
    else if (name === "home") move(Number.NEGATIVE_INFINITY);
    else if (name === "end") move(Number.POSITIVE_INFINITY);
    else if (name === "enter" && current !== undefined) openTranscript(app, current.agentId);
    else if (name === "m" && current !== undefined)
      input = { purpose: "message", line: createLineInput(`to ${nameOf(current)}: `) };
    else if (name === "/") input = { purpose: "search", line: createLineInput("search: ", filter) };
    else if (["esc", "tab", "ctrl-c", "q"].includes(name)) app.close(layer);
    else if (current !== undefined) actOnAgent(app, current, name === "ctrl-b" ? "b" : name);
    return true;
  }

  const layer: Layer = {
    draw,
    key,
    hasAgents: true,
    get keys() {
      if (input !== undefined) return [input.purpose === "message" ? "Enter sends" : "Enter searches", "Esc back"];
      const current = agent();
      return ["↑↓ choose", "Enter opens", ...(current ? agentKeys(current) : []), "/ search", "Esc back"];
    },
  };
  app.open(layer);
}
