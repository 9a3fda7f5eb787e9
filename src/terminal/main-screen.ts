import { type AgentView, activityWords, agentOf, tokensOf, totalsOf } from "../client/index.ts";
import { plural } from "../lib/index.ts";
import { MAIN_AGENT, textOf, type UserBlock } from "../protocol/index.ts";
import type { Drawing, Layer } from "./app.ts";
import { activitySpan } from "./conversation/call-rows.ts";
import { thousands } from "./conversation/item-rows.ts";
import { composeFrame, hintRow } from "./frame.ts";
import { busyAgents, clock, dollars, panelRows } from "./parts/agents-panel.ts";
import type { Completion } from "./parts/completion.ts";
import type { Later } from "./parts/later.ts";
import type { PromptBox } from "./parts/prompt-box.ts";
import type { Requests } from "./parts/requests.ts";
import { type Row, type Span, span } from "./screen/row.ts";
import type { Screen } from "./screen/screen.ts";
import { cleanLine, cut, cutBefore, preview } from "./screen/text.ts";
import { currentMode } from "./session-commands.ts";
import type { SessionFeed } from "./session-feed.ts";
import type { Submit } from "./submit.ts";
import { shownPrompt } from "./typed-prompt.ts";
import type { UnreadMessages } from "./unread-messages.ts";

export interface MainScreenParts {
  readonly screen: Screen;
  readonly feed: SessionFeed;
  readonly box: PromptBox;
  readonly completion: Completion;
  readonly requests: Requests;
  readonly submit: Submit;
  readonly unread: UnreadMessages;
  readonly isBusy: () => boolean;
  readonly later: Later;
  /** Returns a message that is shown briefly in place of the key hints; undefined if there is none. */
  readonly flash: () => string | undefined;
  /** The line that the user's status line command has printed. */
  readonly statusLine: () => Row | undefined;
}

/** Draws everything below the conversation. `open` is the unfinished part of the conversation. */
export function drawMainScreen(parts: MainScreenParts, open: readonly Row[], top: Layer | undefined): Drawing {
  const { screen, feed, box, completion, requests, statusLine } = parts;
  const { columns, rows } = screen.size;
  const status = statusLine();
  return composeFrame({
    columns,
    rows,
    isCut: !screen.isSettled,
    open,
    activity: activityRows(parts),
    panel: (room) =>
      top?.hasAgents ? [] : panelRows(feed.view, { columns: columns - 1, rows: room, now: Date.now() }),
    queue: queueRows(parts, columns),
    notes: [...laterRows(parts), ...requests.rows(columns)],
    layer: top,
    suggestions: top === undefined ? completion.rows(columns) : [],
    box: (space) => box.draw(space, top === undefined ? placeholder(parts) : (top.typed ?? ""), top === undefined),
    hint: () => hintRow({ keys: keysHint(parts, top), mode: modeSpan(parts), facts: facts(parts) }, columns),
    status: status === undefined ? [] : [status],
  });
}

function mainAgent({ feed }: MainScreenParts): AgentView | undefined {
  return agentOf(feed.view, MAIN_AGENT);
}

/** A narrower terminal has no room for figures next to an agent's activity. */
const NARROW = 60;

function activityRows(parts: MainScreenParts): readonly Row[] {
  const { feed, submit, isBusy } = parts;
  if (feed.problem !== undefined) return [[span(`  ${cleanLine(feed.problem)}`, "bad")]];
  if (feed.isOpening) return [[span("  opening the session", "dim")]];
  const columns = parts.screen.size.columns - 1;
  const row = (mark: string, what: string, hint: string): Row =>
    cutBefore([span(mark, "accent"), activitySpan(what)], [span(hint, "dim")], columns);
  const shell = submit.shell === undefined ? [] : [row("  ! ", submit.shell, "  Esc stops it")];
  const agent = mainAgent(parts);
  if (agent === undefined || !isBusy()) return shell;
  const elapsed = clock(Date.now() - agent.startedAt);
  const tokens = columns < NARROW ? "" : ` · ${thousands(tokensOf(agent.usage))} tokens`;
  return [row("  ● ", activityWords(agent), `  ${elapsed}${tokens} · Esc interrupts`), ...shell];
}

function queueRows({ feed, submit, unread }: MainScreenParts, columns: number): readonly Row[] {
  const row = (label: string, content: readonly UserBlock[]): Row => {
    const images = content.filter(({ type }) => type === "image").length;
    const text = `${preview(shownPrompt(textOf(content)))}${images === 0 ? "" : ` [${plural(images, "image")}]`}`;
    return [span(`  ${label}  `, "dim"), span(cut(text, columns - 12))];
  };
  return [
    ...unread.list.map((content) => row("unread", content)),
    ...submit.held.map((content) => row("held  ", content)),
    ...feed.view.queue.map(({ content }) => row("queued", content)),
  ];
}

function laterRows({ later: { text } }: MainScreenParts): readonly Row[] {
  return text === undefined ? [] : [[span(`  ${text}`, "warn"), span("  Esc stays", "dim")]];
}

function placeholder({ feed, submit, isBusy }: MainScreenParts): string {
  if (feed.view.queue.length > 1) return "↑ edits the last queued prompt · Ctrl+S sends the first one now";
  if (feed.view.queue.length > 0) return "↑ edits the queued prompt · Ctrl+S sends it now";
  if (submit.held.length > 1) return "Enter sends the held prompts · ↑ edits the last one";
  if (submit.held.length > 0) return "Enter sends the held prompt · ↑ edits it";
  return isBusy() ? "Enter queues a prompt · Ctrl+S sends it now" : "What shall we do?";
}

function keysHint(parts: MainScreenParts, layer: Layer | undefined): readonly string[] {
  const { feed, completion, flash, isBusy } = parts;
  const flashed = flash();
  if (flashed !== undefined) return [flashed];
  if (layer !== undefined) return layerKeys(parts, layer);
  if (completion.isOpen) return ["Tab completes", "↑↓ choose", "Esc hides"];
  const hasAwaited = busyAgents(feed.view).some(({ background }) => !background);
  return [
    `Enter ${isBusy() ? "queues" : "sends"}`,
    ...(hasAwaited ? ["Ctrl+B background"] : []),
    ...(feed.view.agents.length > 1 ? ["↓ agents"] : []),
    "/ commands",
    "@ files",
    "! shell",
  ];
}

/** Returns a layer's key hints. A request's keys are shown only once they have an effect; Esc always has one. */
function layerKeys({ requests }: MainScreenParts, layer: Layer): readonly string[] {
  return requests.isEarly(layer) ? ["Esc write a prompt first"] : layer.keys;
}

/** Returns the name of the permission mode, unless it is the default one. */
function modeSpan({ feed }: MainScreenParts): Span | undefined {
  const mode = currentMode(feed);
  if (mode === "default") return undefined;
  return span(mode, mode === "bypassPermissions" ? "bad" : "dim");
}

function facts(parts: MainScreenParts): readonly string[] {
  const { feed } = parts;
  const { costUsd, isCostKnown, isCostAtMost } = totalsOf(feed.view);
  const { window, contextTokens = 0 } = mainAgent(parts) ?? {};
  const filled = window === undefined ? 0 : Math.round((contextTokens / window) * 100);
  const shown = [
    feed.host?.facts.model || (mainAgent(parts)?.model ?? ""),
    filled > 0 ? `context ${filled} %` : "",
    isCostKnown && costUsd > 0 ? dollars(costUsd, isCostAtMost) : "",
  ];
  return shown.filter((part) => part !== "");
}
