import {
  type AgentView,
  agentOf,
  type NewCommand,
  type SessionView,
  stateOf,
  unverifiedIn,
  type ViewUpdate,
  withoutIds,
} from "../client/index.ts";
import { plural } from "../lib/index.ts";
import { MAIN_AGENT, type PermissionMode, type Receipt } from "../protocol/index.ts";
import { createAgentNotices } from "./agent-notices.ts";
import type { App, Layer } from "./app.ts";
import { createCommands, mentionedAgent } from "./commands.ts";
import { textColumns } from "./conversation/item-rows.ts";
import { type ConversationPrinter, createConversationPrinter } from "./conversation/print-conversation.ts";
import { editText } from "./edit-text.ts";
import type { ClosingWay, TerminalHost } from "./host.ts";
import type { CommandTools } from "./host-command.ts";
import { createInterrupt, requestsEndedByInterrupt } from "./interrupt.ts";
import { isMainKey, type MainKey, mainKeys } from "./main-keys.ts";
import { drawMainScreen, type MainScreenParts } from "./main-screen.ts";
import { openAgentsLayer } from "./parts/agents-layer.ts";
import { busyAgents, labelIn, nameOf } from "./parts/agents-panel.ts";
import { isAnswerKey } from "./parts/approval-layer.ts";
import { createCompletion } from "./parts/completion.ts";
import { createFlash } from "./parts/flash.ts";
import { createLater } from "./parts/later.ts";
import { openLeaveDialog } from "./parts/leave-dialog.ts";
import { openPicker } from "./parts/picker.ts";
import { createPromptBox } from "./parts/prompt-box.ts";
import { createRequests } from "./parts/requests.ts";
import { createStatusLine } from "./parts/status-line.ts";
import { openTranscript } from "./parts/transcript-layer.ts";
import { askForTrust } from "./parts/trust-question.ts";
import { welcomeRows } from "./parts/welcome.ts";
import { askAboutAgents } from "./plain/ask-about-agents.ts";
import { createPlainScreen } from "./plain/plain-screen.ts";
import { printTranscript } from "./plain/print-transcript.ts";
import type { TerminalProgram } from "./program.ts";
import type { Key } from "./screen/keys.ts";
import { type Row, type Style, span } from "./screen/row.ts";
import type { Screen } from "./screen/screen.ts";
import { cleanLine, preview, wrap } from "./screen/text.ts";
import { currentMode } from "./session-commands.ts";
import { createSessionFeed } from "./session-feed.ts";
import { createSubmit } from "./submit.ts";
import { createUnreadMessages } from "./unread-messages.ts";

export interface ControllerOptions {
  readonly program: TerminalProgram;
  readonly screen: Screen;
  readonly isPlain: boolean;
  /** Schedules a redraw. Calls in quick succession are combined. */
  readonly redraw: () => void;
  /** Ends the terminal interface. */
  readonly leave: () => void;
  /** Ends the terminal interface, because no session could be opened. */
  readonly fail: (error: unknown) => void;
  /** Clears and redraws the screen. */
  readonly clear: () => void;
  /** Lets the user edit a file in another program. */
  readonly edit: (file: string) => Promise<void>;
}

/** Handles keys and draws the terminal. */
export interface Controller {
  /** Opens a session and sends a prompt, if there is one. Never rejects. */
  start(resume: string | undefined, prompt: string): Promise<void>;
  keys(keys: readonly Key[]): void;
  /** Draws the screen. */
  draw(): void;
  /** Whether something on the screen changes by itself, such as an elapsed time. */
  readonly isTicking: boolean;
  /** Closes the session so that its agents continue when it is resumed. Never rejects. */
  close(): Promise<void>;
  /** Message that tells the user how to continue the session later. */
  readonly farewell: string;
}

/** Time after the last keypress during which the user is considered to be typing. */
const TYPING_MS = 600;
/** Time after Esc has put a request or a list aside during which another Esc does not interrupt agents. */
const ESCAPE_MS = 1_500;
/**
 * Number of rows above which the complete lines of unfinished code are printed. When the screen shrinks, frame rows
 * that no longer fit can't be removed and would be printed again.
 */
const MAX_OPEN_ROWS = 4;

export function createController(options: ControllerOptions): Controller {
  const { program, screen, isPlain, redraw } = options;
  const box = createPromptBox({
    mark: isPlain ? "> " : "› ",
    earlier: program.history.load(),
    onPrompt: program.history.add,
  });
  const flash = createFlash(redraw, isPlain ? (text) => app.say(text) : undefined);
  const layers: Layer[] = [];
  let printer: ConversationPrinter = createConversationPrinter();
  let shownSession: string | undefined;
  let typedAt = 0;
  let typing: NodeJS.Timeout | undefined;
  let files: readonly string[] = [];
  /** When Esc last closed something other than the main screen. */
  let escapedAt = 0;

  const feed = createSessionFeed({
    program,
    report: (message) => app.say(message, "warn"),
    onOpened: showOpened,
    onUpdate: notice,
    onChange: redraw,
  });
  const app: App = {
    get view() {
      return feed.view;
    },
    get host() {
      return feed.host;
    },
    get columns() {
      return screen.size.columns;
    },
    user: program.user,
    isPlain,
    now: () => Date.now(),
    redraw,
    say: (message, style: Style = "dim") => {
      const { columns } = screen.size;
      const first = [span("  ")];
      app.print([[], ...wrap([span(cleanLine(message), style)], { columns: textColumns(columns), first })]);
    },
    print: (rows) => {
      // Earlier parts of the conversation are printed first.
      printConversation();
      screen.print(rows);
      redraw();
    },
    send,
    watch: (agentId) => feed.watch(agentId),
    unwatch: (agentId) => feed.unwatch(agentId),
    editText: async (text, name) => {
      const edited = await editText({ text, name, edit: options.edit });
      if ("problem" in edited) app.say(edited.problem, "bad");
      return "problem" in edited ? text : edited.text;
    },
    showRequest: () => requests.show(),
    requestRows: (columns) => requests.rows(columns),
    type: (text) => {
      box.key({ kind: "text", text });
      completion.update(box.editor);
      redraw();
    },
    open: (layer) => {
      layers.push(layer);
      redraw();
    },
    close: (layer) => {
      const index = layers.indexOf(layer);
      if (index >= 0) layers.splice(index, 1);
      redraw();
    },
  };
  const agentNotices = createAgentNotices(app, isBusy);
  const unread = createUnreadMessages();
  const requests = createRequests({ app, by: program.user, isOccupied });
  const tools: CommandTools = {
    get columns() {
      return screen.size.columns - 3;
    },
    edit: options.edit,
    prompt: (text) => submit.prompt(text),
    write: (text) => {
      box.set(text);
      redraw();
    },
  };
  const later = createLater({
    isWorking: () => isBusy() || busyAgents(feed.view).length > 0 || feed.view.queue.length > 0,
    isOccupied: () => !box.isEmpty || layers.length > 0,
    redraw,
  });
  const { clear } = options;
  const commands = createCommands({ app, feed, program, tools, later, isBusy, leave: askToLeave, clear });
  const submit = createSubmit({ app, feed, commands, isBusy });
  const interrupt = createInterrupt(app, { isBusy, hold: submit.hold });
  const completion = createCompletion({
    commands: () => commands.list().map(({ name, about }) => ({ text: name, about })),
    agents: () => [
      ...[...new Set(busyAgents(feed.view).map(nameOf))]
        .filter((name) => mentionedAgent(app, name) !== undefined && !feed.host?.facts.agents.includes(name))
        .map((text) => ({ text, about: "running agent" })),
      ...(feed.host?.facts.agents ?? []).map((text) => ({ text, about: "agent" })),
    ],
    files: () => files,
  });
  const status = createStatusLine(feed, {
    version: program.version,
    isBusy,
    redraw,
    report: (message) => app.say(message, "warn"),
  });
  const parts: MainScreenParts = {
    screen,
    feed,
    box,
    completion,
    requests,
    submit,
    unread,
    isBusy,
    later,
    flash: () => flash.text,
    statusLine: () => status.row,
  };
  const plain = isPlain ? createPlainScreen(parts) : undefined;

  async function send(command: NewCommand): Promise<Receipt | undefined> {
    const host = feed.host ?? (await feed.opened);
    if (host === undefined) {
      app.say(feed.problem ?? "No session is open.", "bad");
      return undefined;
    }
    const sent = await host.send(command);
    const receipt = { ...sent, message: withoutIds(sent.message) };
    if (receipt.status === "refused") app.say(receipt.message, "warn");
    redraw();
    return receipt;
  }

  /** Returns whether the user is typing, or something other than the prompt box has the keyboard focus. */
  function isOccupied(): boolean {
    return layers.length > 0 || !box.isEmpty || Date.now() - typedAt < TYPING_MS;
  }

  function main(): AgentView | undefined {
    return agentOf(feed.view, MAIN_AGENT);
  }

  function isBusy(): boolean {
    const agent = main();
    return agent !== undefined && stateOf(agent) !== "idle" && agent.runId !== undefined && !agent.isCutOff;
  }

  function showOpened({ facts }: TerminalHost): void {
    if (shownSession !== undefined && shownSession !== facts.sessionId) printer = createConversationPrinter();
    shownSession = facts.sessionId;
    app.print(welcomeRows(facts, { version: program.version, columns: screen.size.columns, isPlain }));
    for (const notice of facts.notices) app.say(notice, "warn");
    status.refresh();
  }

  function notice(update: ViewUpdate, before: SessionView): void {
    redraw();
    status.refresh();
    agentNotices.notice(update, before);
    unread.notice(update);
    interrupt.notice();
  }

  function askToLeave(): void {
    void openLeaveDialog(app, { isBusy, later, leave: leaveNow });
  }

  async function leaveNow(how: ClosingWay): Promise<void> {
    const { length } = submit.held;
    if (length > 0)
      app.say(`${plural(length, "held prompt")} not sent. Next time, press ↑ to recall earlier prompts.`, "warn");
    const message = await feed.close(how);
    agentNotices.finish();
    if (message !== undefined) app.say(message, "warn");
    options.leave();
  }

  function ctrlC(): void {
    const key = "ctrl-c";
    const quit = { key, effect: "quit" } as const;
    if (flash.isAnnounced(quit)) askToLeave();
    else if (!box.isEmpty) {
      box.clear();
      flash.show("Cleared. ↑ brings it back · Ctrl+C again quits", quit);
    } else if (!isBusy()) flash.show("Ctrl+C again quits", quit);
    else if (requestsEndedByInterrupt(feed.view).length > 0 && !flash.isAnnounced({ key, effect: "interrupt" }))
      warnOfInterrupt(key);
    else {
      void interrupt.start();
      flash.show("Interrupted · Ctrl+C again quits", quit);
    }
  }

  /** Says that the key interrupts the agents if it is pressed again, and how many requests that would end. */
  function warnOfInterrupt(key: "ctrl-c" | "esc"): void {
    const ended = requestsEndedByInterrupt(feed.view).length;
    const requests = ended === 0 ? "" : ` and ends ${plural(ended, "request")}`;
    flash.show(`${mainKeys[key][0]} again interrupts${requests}`, { key, effect: "interrupt" });
  }

  function pressEscape(): void {
    if (isSuggesting()) completion.hide();
    else if (later.cancel()) flash.show("Staying");
    else if (submit.stopShell()) return;
    else if (isBusy()) {
      const isHarmless = requestsEndedByInterrupt(feed.view).length === 0 && escapedAt + ESCAPE_MS <= Date.now();
      if (flash.isAnnounced({ key: "esc", effect: "interrupt" }) || isHarmless) void interrupt.start();
      else warnOfInterrupt("esc");
    } else if (box.isEmpty) return;
    else if (flash.isAnnounced({ key: "esc", effect: "clear" })) box.clear();
    else flash.show("Esc again clears the input", { key: "esc", effect: "clear" });
  }

  /** Moves the agents that the main agent is waiting for to the background. Returns false if there are none. */
  function moveToBackground(): boolean {
    const awaited = busyAgents(feed.view).filter(({ path, background }) => path.length === 1 && !background);
    void Promise.all(awaited.map(({ agentId }) => send({ type: "background", agent: agentId }))).then((receipts) => {
      const moved = receipts.filter((receipt) => receipt?.status === "done").length;
      if (moved > 0) app.say(`${plural(moved, "agent")} moved to the background.`);
    });
    return awaited.length > 0;
  }

  /** Switches to the next of the modes that Shift+Tab cycles through. */
  async function changeMode(): Promise<void> {
    const modes: readonly PermissionMode[] = ["default", "acceptEdits", "plan"];
    const next = modes[(modes.indexOf(currentMode(app)) + 1) % modes.length] ?? "default";
    const receipt = await send({ type: "configure", permissionMode: next });
    if (receipt?.status === "done") flash.show(`Permission mode: ${next}`);
    redraw();
  }

  /**
   * Keys that do something other than edit the prompt. If a handler returns false, its key is passed on to the prompt.
   */
  const handlers: Readonly<Record<MainKey, () => unknown>> = {
    "ctrl-c": ctrlC,
    "ctrl-d": () => (box.isEmpty ? askToLeave() : false),
    esc: pressEscape,
    "ctrl-b": moveToBackground,
    enter: () => answerAgain() || submit.enter(box),
    "ctrl-l": () => options.clear(),
    "ctrl-o": openConversation,
    "ctrl-r": searchHistory,
    "shift-tab": () => void changeMode(),
    "ctrl-enter": () => submit.now(box),
    "ctrl-s": () => submit.now(box),
    up: () => (isSuggesting() ? completion.move(-1) : box.isEmpty && !box.isCleared && submit.editQueued(box)),
    down: () => (isSuggesting() ? completion.move(1) : box.isEmpty && openAgents()),
    tab: () => (completion.isOpen ? complete() : requests.show() || openAgents()),
  };

  /**
   * If the box contains only the letter of an answer, which was pressed before the request accepted keys, shows the
   * request instead of sending a prompt. Returns false otherwise.
   */
  function answerAgain(): boolean {
    if (!isAnswerKey(box.editor.text) || !requests.show()) return false;
    box.set("");
    flash.show("Choose your answer again");
    return true;
  }

  /** Returns whether suggestions are shown. In plain mode, Tab prints them. */
  function isSuggesting(): boolean {
    return !isPlain && completion.isOpen;
  }

  function complete(): void {
    const { texts } = completion;
    if (isPlain && texts.length > 1) app.say(`${texts.length} matches: ${texts.join(", ")}`);
    else box.change(completion.accept(box.editor));
  }

  /** Shows the main agent's conversation, with every call in full. */
  function openConversation(): void {
    if (main() === undefined) return;
    if (isPlain) void printTranscript(app, MAIN_AGENT, true);
    else openTranscript(app, MAIN_AGENT, { isWhole: true });
  }

  /** Lets the user choose an earlier prompt, newest first. */
  function searchHistory(): void {
    const prompts = [...new Set(box.earlier.toReversed())];
    if (prompts.length === 0) {
      flash.show("There are no earlier prompts");
      return;
    }
    openPicker(app, {
      title: "Earlier prompts",
      choices: prompts.map((prompt) => ({ label: preview(prompt), value: prompt })),
      onChoose: box.set,
    });
  }

  function openAgents(): boolean {
    if (isPlain) askAboutAgents(app);
    else openAgentsLayer(app);
    return layers.length > 0;
  }

  function onKey(key: Key): void {
    flash.onKey(key.kind === "key" ? key.name : "");
    const layer = layers.at(-1);
    const handler = key.kind === "key" && isMainKey(key.name) ? handlers[key.name] : undefined;
    // Esc only puts a request aside, so it always works.
    const isEsc = key.kind === "key" && key.name === "esc";
    const isEarly = layer !== undefined && !isEsc && requests.isEarly(layer);
    if (layer !== undefined && isEsc) escapedAt = Date.now();
    if (layer !== undefined && !isEarly && (layer.key(key) || key.kind === "key")) return;
    // Text typed while a request is appearing is part of a prompt, not an answer.
    if (layer !== undefined) layer.key({ kind: "key", name: "esc" });
    if (handler === undefined || handler() === false) box.key(key);
    completion.update(box.editor);
    if (key.kind === "text" && key.text.includes("@")) void loadFiles();
  }

  /** Reads the list of files shortly before it may be needed, so that it is up to date. */
  async function loadFiles(): Promise<void> {
    files = (await feed.host?.files()) ?? [];
    completion.update(box.editor);
    redraw();
  }

  function draw(): void {
    const { columns, rows } = screen.size;
    requests.update();
    const open = printConversation();
    const top = layers.at(-1);
    plain?.speak(top);
    const isFull = top?.isFull === true;
    if (isFull) screen.drawFull(top.draw({ columns, rows }));
    else screen.draw(plain?.draw(top) ?? drawMainScreen(parts, open, top));
  }

  /** Prints what is new in the main agent's conversation. Returns the rows of its unfinished part. */
  function printConversation(): readonly Row[] {
    const { columns, rows } = screen.size;
    const agent = main();
    if (agent === undefined) return [];
    const nameOfAgent = (agentId: string): string => labelIn(feed.view, agentId);
    const printed = printer.update(agent, {
      columns,
      rows: Math.min(MAX_OPEN_ROWS, Math.floor(rows / 2)),
      isPlain,
      user: program.user,
      nameOf: nameOfAgent,
    });
    if (printed.rows.length > 0) screen.print(printed.rows);
    return printed.open;
  }

  return {
    start: async (resume, prompt) => {
      if ((await askForTrust(app, program)) === "leave") return options.leave();
      const opening = feed.open(resume);
      // Which commands exist is known once the session is open.
      const isCommand = prompt.startsWith("/");
      if (prompt.trim() !== "" && !isCommand) submit.prompt(prompt);
      await opening;
      if (feed.failure !== undefined) options.fail(feed.failure);
      else if (isCommand) {
        box.set(prompt);
        submit.enter(box);
      }
    },
    keys: (keys) => {
      for (const key of keys) onKey(key);
      redraw();
      if (layers.length > 0) return;
      typedAt = Date.now();
      // An open request is shown when the user has stopped typing.
      clearTimeout(typing);
      typing = setTimeout(redraw, TYPING_MS).unref();
    },
    draw,
    get isTicking() {
      return !isPlain && (isBusy() || busyAgents(feed.view).length > 0);
    },
    close: async () => {
      later.cancel();
      await feed.close("park");
    },
    get farewell() {
      if (shownSession === undefined || feed.view.agents.length === 0) return "";
      const { end } = agentOf(feed.view, MAIN_AGENT) ?? {};
      const owed = end && unverifiedIn(end);
      const unverified = owed === undefined ? "" : `${cleanLine(owed)}\n`;
      return `${unverified}Resume this session with: ${program.command} --resume ${shownSession}`;
    },
  };
}
