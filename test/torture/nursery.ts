import { setImmediate as tick } from "node:timers/promises";
import type { Approvals, Model } from "../../src/ports/index.ts";
import {
  type AssistantBlock,
  type Message,
  type ModelOutcome,
  noUsage,
  type ToolCall,
} from "../../src/protocol/index.ts";
import type { Random } from "../reliability/work-script.ts";

/** A model for a main agent with many background children, an approver, and the moments at which the children end. */
export interface Nursery {
  readonly model: Model;
  readonly person: Approvals;
  /** Sets the function to call when the next restart is due. */
  onRestart(stop: () => void): void;
  /** Returns all user text in the newest request of an agent: `main`, or a child's name. */
  lastConversation(name: string): string;
  sent(): readonly { readonly word: string; readonly child: string }[];
  approvals(): number;
  /** Whether all planned actions were performed. */
  isOver(): boolean;
}

type Action = "launch" | "message" | "ask" | "look" | "rest" | "restart";

export interface NurseryPlan {
  readonly random: Random;
  readonly children: number;
  readonly messages: number;
}

export function createNursery({ random, children, messages }: NurseryPlan): Nursery {
  const gates = new Map<string, () => void>();
  const opened = new Set<string>();
  const conversations = new Map<string, string>();
  const sent: { word: string; child: string }[] = [];
  const actions = planActions(random, { children, messages });
  let launched = 0;
  let asked = 0;
  /** Whether the main agent has nothing to do until a child ends. If so, the test must let a child end. */
  let isWaiting = false;
  let stop = (): void => undefined;

  const openGate = (name: string): void => {
    opened.add(name);
    gates.get(name)?.();
  };
  /** Lets some of the running children end now or a few moments later. */
  const letSomeEnd = async (share: number): Promise<void> => {
    for (const name of gates.keys()) if (!opened.has(name) && random() < share) openGate(name);
    for (let count = Math.floor(random() * 12); count > 0; count -= 1) await tick();
  };

  const perform = async (action: Action): Promise<Said> => {
    if (action === "launch" && launched < children) {
      const batch = Math.min(children - launched, 1 + Math.floor(random() * 10));
      return { calls: Array.from({ length: batch }, () => launch(launched++)) };
    }
    if (action === "message" && launched > 0) return { calls: [message()] };
    if (action === "ask") return { calls: [call("Bash", { command: `echo ${asked} > asked-${asked++}` })] };
    if (action === "look") return { calls: [call("Glob", { pattern: `*${Math.floor(random() * 1e6)}*` })] };
    if (action === "restart") {
      await letSomeEnd(0.2);
      stop();
      return { text: "I was interrupted." };
    }
    await letSomeEnd(0.3);
    const [first] = gates.keys();
    if (first !== undefined) setImmediate(openGate, first);
    isWaiting = true;
    return { text: "Meanwhile." };
  };
  const message = () => {
    const child = `child-${Math.floor(random() * launched)};`;
    const word = `WORD-${sent.length};`;
    sent.push({ word, child });
    return call("SendMessage", { to: child, message: word });
  };

  const answerMain = async (): Promise<Said> => {
    isWaiting = false;
    await letSomeEnd(0.15);
    const action = actions.shift();
    if (action !== undefined) return perform(action);
    for (const name of gates.keys()) openGate(name);
    return { text: "All done." };
  };
  const answerChild = async (name: string, signal: AbortSignal): Promise<Said> => {
    if (!opened.has(name) || random() < 0.3) {
      opened.delete(name);
      await new Promise<void>((resolve) => {
        gates.set(name, resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
        if (signal.aborted || isWaiting || actions.length === 0) resolve();
      });
      gates.delete(name);
    }
    return { text: `${name} is done.` };
  };

  return {
    model: {
      describe: () => ({
        provider: "scripted",
        model: "scripted-1",
        dialect: "anthropic",
        window: 10_000_000,
        maxOutputTokens: 8_000,
      }),
      call: async ({ prompt, callId, signal }) => {
        const all = prompt.messages();
        const name = /child-\d+;/.exec(JSON.stringify(all[0]?.content ?? ""))?.[0] ?? "main";
        conversations.set(name, wordsOf(all));
        const said = name === "main" ? await answerMain() : await answerChild(name, signal);
        return outcomeOf(said, { callId, aborted: signal.aborted });
      },
    },
    person: {
      ask: async () => {
        await letSomeEnd(0.4);
        return random() < 0.5 ? { answer: "allow", by: "a test" } : { answer: "deny", by: "a test" };
      },
    },
    onRestart: (how) => {
      stop = how;
    },
    lastConversation: (name) => conversations.get(name) ?? "",
    sent: () => sent,
    approvals: () => asked,
    isOver: () => actions.length === 0,
  };
}

/** Plans all launches and messages, in random order. */
function planActions(random: Random, { children, messages }: Omit<NurseryPlan, "random">): Action[] {
  const actions: Action[] = [];
  const add = (action: Action, count: number): void => {
    for (let index = 0; index < count; index += 1) actions.splice(Math.floor(random() * actions.length), 0, action);
  };
  // A launch starts at least one child. Launches that find no children left to start do nothing.
  add("launch", children);
  add("message", messages);
  add("ask", 4);
  add("look", 6);
  add("rest", 4);
  add("restart", 1 + Math.floor(random() * 2));
  return ["launch", ...actions];
}

interface Said {
  readonly text?: string;
  readonly calls?: readonly Pick<ToolCall, "name" | "inputJson">[];
}

function launch(number: number) {
  const name = `child-${number};`;
  const prompt = `You are ${name} do your part.`;
  const input = { description: "a part", prompt, subagent_type: "general-purpose", run_in_background: true, name };
  return call("Task", input);
}

function call(name: string, input: unknown): Pick<ToolCall, "name" | "inputJson"> {
  return { name, inputJson: JSON.stringify(input) };
}

function wordsOf(messages: readonly Message[]): string {
  return messages
    .flatMap(({ role, content }) => (role === "user" ? content : []))
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("\n");
}

function outcomeOf(
  { text, calls = [] }: Said,
  { callId, aborted }: { callId: (index: number) => string; aborted: boolean },
): ModelOutcome {
  if (aborted) return { ok: false, error: { code: "aborted", message: "The request was aborted." }, partial: [] };
  const content: AssistantBlock[] = text === undefined ? [] : [{ type: "text", text }];
  content.push(...calls.map((each, index) => ({ type: "tool_call" as const, callId: callId(index), ...each })));
  return {
    ok: true,
    message: { role: "assistant", content },
    stopReason: calls.length > 0 ? "tool_calls" : "end_turn",
    incompleteCalls: 0,
    usage: { ...noUsage, inputTokens: 100, outputTokens: 10 },
  };
}
