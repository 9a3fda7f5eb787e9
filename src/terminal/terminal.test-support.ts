import { setTimeout } from "node:timers/promises";
import type { NewCommand, ViewUpdate } from "../client/index.ts";
import { line } from "../client/view/agent-events.test-support.ts";
import { createChannel } from "../lib/index.ts";
import { type ApprovalQuestion, type DurableEvent, MAIN_AGENT, type Receipt } from "../protocol/index.ts";
import { createController } from "./controller.ts";
import type { SessionFacts, TerminalHost } from "./host.ts";
import type { TerminalProgram } from "./program.ts";
import { createBurstDetector } from "./screen/bursts.ts";
import { createKeyDecoder } from "./screen/keys.ts";
import { type Row, textOfRow } from "./screen/row.ts";
import type { Frame } from "./screen/screen.ts";

export interface TestTerminal {
  /** Everything that was printed, without styles. */
  readonly printed: string;
  /** Returns what is drawn below the printed text, or on the whole screen. */
  frame(): string;
  /** Presses keys, such as `enter`, `ctrl-r` or `up`, one after the other. */
  press(...names: readonly string[]): void;
  type(text: string): void;
  /** Passes bytes to the terminal as a single read, and waits for no more of them. */
  receive(bytes: string): void;
  /** Waits until the text has been printed or drawn. */
  waitFor(text: string): Promise<void>;
  /** Passes a session event to the terminal. */
  happen(event: DurableEvent, agentId?: string): void;
  /** Makes an agent ask the user. */
  ask(question: ApprovalQuestion): void;
  /** Commands that the terminal has sent. */
  readonly sent: readonly NewCommand[];
  readonly farewell: string;
  /** How sessions were closed. */
  readonly closed: readonly string[];
}

export interface TestOptions {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly isPlain?: boolean | undefined;
  readonly facts?: Partial<SessionFacts> | undefined;
  readonly host?: Partial<TerminalHost> | undefined;
  readonly history?: readonly string[] | undefined;
  /** First prompt. */
  readonly prompt?: string | undefined;
  /** Returns the message in the receipt for a command. */
  readonly receipt?: ((command: NewCommand) => string) | undefined;
}

const WAIT_MS = 5_000;

/** Opens the terminal on a screen in memory, with a session whose events the test supplies. */
export async function openTestTerminal(options: TestOptions = {}): Promise<TestTerminal> {
  const { columns = 80, rows = 24, isPlain = false, receipt = () => "Done." } = options;
  let updates = createChannel<ViewUpdate>();
  const printed: string[] = [];
  const sent: NewCommand[] = [];
  const closed: string[] = [];
  const questions: ApprovalQuestion[] = [];
  let drawn: readonly Row[] = [];
  let seq = 0;
  const draw = (frame: Frame): void => {
    drawn = frame.rows;
  };
  const host: TerminalHost = {
    facts: {
      sessionId: "s1",
      cwd: "/project",
      model: "claude-sonnet-5-5",
      agentType: "main",
      permissionMode: "default",
      isOffline: false,
      isRemote: false,
      notices: [],
      agents: ["Explore"],
      ...options.facts,
    },
    updates: () => updates,
    send: async (command): Promise<Receipt> => {
      sent.push(command);
      return { commandId: "c", status: "done", message: receipt(command) };
    },
    question: async (requestId) => questions.find((each) => each.requestId === requestId),
    prompts: async () => [],
    context: async () => undefined,
    commands: () => [],
    files: async () => [],
    lines: async () => [],
    close: async (how) => {
      closed.push(how);
      return undefined;
    },
    ...options.host,
  };
  const program: TerminalProgram = {
    open: async () => {
      const own = createChannel<ViewUpdate>();
      updates = own;
      return { ...host, updates: () => own };
    },
    sessions: async () => [],
    history: { load: () => options.history ?? [], add: () => undefined },
    user: "me",
    version: "1",
    command: "retinue --server http://127.0.0.1:7333",
  };
  const controller = createController({
    program,
    screen: {
      size: { columns, rows },
      isSettled: true,
      print: (added) => printed.push(...added.map(textOfRow)),
      draw,
      drawFull: draw,
      measure: () => false,
      locate: () => true,
      located: () => "located",
      settled: () => undefined,
      forget: () => undefined,
      close: () => undefined,
    },
    isPlain,
    redraw: () => undefined,
    leave: () => undefined,
    fail: (error) => {
      throw error;
    },
    clear: () => undefined,
    edit: async () => undefined,
  });
  await controller.start(undefined, options.prompt ?? "");
  const happen = (event: DurableEvent, agentId: string = MAIN_AGENT): void => {
    seq += 1;
    updates.push({ agentId, seq, event: line(event, Date.now()) });
  };
  const frame = (): string => {
    controller.draw();
    return drawn.map(textOfRow).join("\n");
  };
  return {
    get printed() {
      return printed.join("\n");
    },
    frame,
    press: (...names) => {
      for (const name of names) controller.keys([{ kind: "key", name }]);
    },
    type: (text) => controller.keys([{ kind: "text", text }]),
    receive: (bytes) => {
      const decoder = createKeyDecoder();
      const bursts = createBurstDetector();
      const keys = [
        ...bursts.push(decoder.push(Buffer.from(bytes))),
        ...bursts.push(decoder.flush()),
        ...bursts.flush(),
      ];
      controller.keys(keys);
    },
    waitFor: async (text) => {
      const end = Date.now() + WAIT_MS;
      for (let shown = ""; !shown.includes(text); await setTimeout(5)) {
        shown = `${frame()}\n${printed.join("\n")}`;
        if (Date.now() > end) throw new Error(`"${text}" was not shown:\n${shown}`);
      }
    },
    happen,
    ask: (question) => {
      questions.push(question);
      const { agentId, requestId, call, decision, always } = question;
      happen({ type: "approval.requested", requestId, ...call, reason: decision.reason, always }, agentId);
    },
    sent,
    closed,
    get farewell() {
      return controller.farewell;
    },
  };
}
