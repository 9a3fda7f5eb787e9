import { nearest } from "../lib/index.ts";
import { type ImageBlock, MAIN_AGENT, type Receipt, textOf, type UserBlock } from "../protocol/index.ts";
import type { App } from "./app.ts";
import { type Commands, mentionedAgent } from "./commands.ts";
import { textColumns } from "./conversation/item-rows.ts";
import { replacePart } from "./editor/editor.ts";
import { labelIn } from "./parts/agents-panel.ts";
import type { PromptBox } from "./parts/prompt-box.ts";
import { span } from "./screen/row.ts";
import { cleanLine, preview, wrap } from "./screen/text.ts";
import type { SessionFeed } from "./session-feed.ts";
import { createShell } from "./shell.ts";
import { typedPrompt } from "./typed-prompt.ts";

export interface SubmitOptions {
  readonly app: App;
  readonly feed: SessionFeed;
  readonly commands: Commands;
  readonly isBusy: () => boolean;
}

/** Sends the user's text as a prompt, as a message to an agent, or as a command. */
export interface Submit {
  /** Sends a prompt, or queues it while the main agent is working. */
  enter(box: PromptBox): void;
  /** Sends a prompt, or the first one in the queue, so that the main agent reads it before its next step. */
  now(box: PromptBox): void;
  /** Moves the last queued or held prompt into the prompt box. Returns false if there is none. */
  editQueued(box: PromptBox): boolean;
  /** Takes all prompts out of the queue and holds them back, so that none of them starts. Never rejects. */
  hold(): Promise<void>;
  /** Prompts that are held back until the user sends them, oldest first. */
  readonly held: readonly Content[];
  prompt(text: string): void;
  /** Stops the user's running shell command. Returns false if there is none. */
  stopShell(): boolean;
  /** The shell command that is running. */
  readonly shell: string | undefined;
}

type When = "now" | "next";
type Content = readonly UserBlock[];

interface Sending {
  readonly when: When;
  /** Outputs of shell commands that precede the user's text. */
  readonly before?: readonly string[] | undefined;
}

export function createSubmit({ app, feed, commands, isBusy }: SubmitOptions): Submit {
  /** Shell commands and their outputs that the agent has not seen. */
  let outputs: readonly string[] = [];
  const shell = createShell(app, (output) => {
    outputs = [...outputs, output];
  });
  let held: readonly Content[] = [];
  /** Images of the prompt that is being edited again, by their mentions. */
  const recalled = new Map<string, ImageBlock>();

  /**
   * Sends the user's text, preceded by the outputs of shell commands, which are not searched for images. Returns
   * undefined or a refusal if the text was not sent.
   */
  const sendTo = async (to: string, typed: string, { when, before = [] }: Sending): Promise<Receipt | undefined> => {
    const host = app.host ?? (await feed.opened);
    const found = mentionedImages(typed).map(async (path) => (await host?.image?.(path)) ?? recalled.get(path));
    const images = (await Promise.all(found)).filter((image) => image !== undefined);
    recalled.clear();
    const text = [...before, typed].join("\n\n");
    return app.send({ type: "prompt", to, content: [{ type: "text", text }, ...images], when });
  };
  const sendMain = async (text: string, when: When): Promise<Receipt | undefined> => {
    const before = outputs;
    outputs = [];
    const receipt = await sendTo(MAIN_AGENT, text, { when, before });
    if (!isSent(receipt)) outputs = [...before, ...outputs];
    return receipt;
  };
  const prompt = (text: string): void => void sendMain(text, isBusy() ? "next" : "now");

  /** Sends what the user has written. If it can't be sent, the user gets it back. */
  async function sendFrom(box: PromptBox, text: string, send: () => Promise<Receipt | undefined>): Promise<void> {
    if (isSent(await send())) return;
    if (box.isEmpty) box.set(text);
    else app.say("The prompt was not sent. Ctrl+R finds it.", "warn");
    app.redraw();
  }

  const sendAgain = (content: Content, when: When) => app.send({ type: "prompt", to: MAIN_AGENT, content, when });

  async function releaseHeld(): Promise<void> {
    const prompts = held;
    held = [];
    for (const content of prompts) await sendAgain(content, "next");
  }

  /** Sends the prompts that are held back, or those that stayed in the queue when another terminal stopped the agent. */
  async function sendWaiting(): Promise<void> {
    if (held.length > 0) await releaseHeld();
    else if (feed.view.queue.length > 0 && !isBusy()) await app.send({ type: "resume", agent: MAIN_AGENT });
  }

  /** Puts a prompt into the prompt box as it was typed, with a mention for each of its images. */
  function edit(content: Content, box: PromptBox): void {
    const prompt = typedPrompt(textOf(content));
    const images = content.filter((block) => block.type === "image");
    const typed = mentionedImages(prompt.typed);
    const isComplete = typed.length === images.length;
    const names = isComplete ? typed : images.map(({ mediaType }, index) => `image-${index + 1}.${mediaType.slice(6)}`);
    recalled.clear();
    for (const [index, image] of images.entries()) recalled.set(names[index] ?? "", image);
    outputs = [...prompt.outputs, ...outputs];
    box.set([prompt.typed, ...(isComplete ? [] : names.map((name) => `@${name}`))].join(" "));
    app.redraw();
  }

  /** Handles input other than a prompt for the main agent. Returns false if the text is such a prompt. */
  function isSpecial(text: string, box: PromptBox): boolean {
    // A word with a dot or another slash is a path.
    const [, command, argument = ""] = /^\/([^\s/.]*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    if (command !== undefined) {
      if (!commands.run(command, argument.trim())) {
        app.say(explainCommand(command), "warn");
        box.set(text);
      }
      return true;
    }
    if (text.startsWith("!")) {
      void shell.run(text.slice(1).trim());
      return true;
    }
    const [, name = "", work = ""] = /^@([\w:.-]+)\s+([\s\S]+)$/.exec(text.trim()) ?? [];
    const agentId = mentionedAgent(app, name);
    if (agentId === undefined) {
      // The session starts the agents that a prompt mentions.
      const isAgent = name.startsWith("agent-") || app.host?.facts.agents.includes(name);
      if (name !== "" && !isAgent) void explainUnknown(name);
      return false;
    }
    void sendFrom(box, text, () => sendToAgent(agentId, work));
    return true;
  }

  function submitText(text: string, box: PromptBox, when: When): void {
    if (!isSpecial(text, box)) void sendFrom(box, text, () => sendMain(text, when));
  }

  /** Sends a message to a subagent. The main conversation does not contain it, so it is printed. */
  async function sendToAgent(agentId: string, message: string): Promise<Receipt | undefined> {
    const receipt = await sendTo(agentId, message, { when: "now" });
    if (!isSent(receipt)) return receipt;
    const { columns } = app;
    const first = [span(`› @${cleanLine(labelIn(app.view, agentId))} `, "accent")];
    app.print([[], ...wrap([span(preview(message))], { columns: textColumns(columns), first })]);
    app.say(receipt.message);
    return receipt;
  }

  function explainCommand(command: string): string {
    if (command === "") return "Type the name of a command after the slash. /help lists the commands.";
    const names = commands.list().map(({ name }) => name);
    const [meant] = nearest(command, names);
    const advice = meant === undefined ? "" : ` Did you mean /${meant}?`;
    return `Unknown command /${command}.${advice} /help lists the commands.`;
  }

  /** Warns that the first mention in a prompt is neither an agent nor a file. The prompt is sent anyway. */
  async function explainUnknown(name: string): Promise<void> {
    const files = (await app.host?.files()) ?? [];
    // Files on a server are unknown.
    if (files.length === 0 || files.includes(name) || files.includes(`${name}/`)) return;
    const [meant] = nearest(name, app.host?.facts.agents ?? []);
    const hint = meant === undefined ? "" : ` Did you mean @${meant}?`;
    app.say(`No agent or file is called ${name}, so the main agent got the prompt unchanged.${hint}`, "warn");
  }

  return {
    prompt,
    enter: (box) => {
      const { text, cursor } = box.editor;
      // A backslash at the end of a line continues it, for terminals in which no other key inserts a line break.
      if (text[cursor - 1] === "\\") {
        box.change(replacePart(box.editor, { from: cursor - 1, to: cursor }, "\n"));
        return;
      }
      const whole = box.take();
      if (whole.trim() === "") void sendWaiting();
      else submitText(whole, box, isBusy() ? "next" : "now");
    },
    now: (box) => {
      const text = box.take();
      const [first] = feed.view.queue;
      if (text.trim() !== "") submitText(text, box, "now");
      else if (first !== undefined) {
        void app.send({ type: "withdraw", promptId: first.promptId }).then((receipt) => {
          if (receipt?.status === "done") void sendAgain(first.content, "now");
        });
      } else void releaseHeld();
    },
    editQueued: (box) => {
      const last = feed.view.queue.at(-1);
      if (last !== undefined) {
        void app.send({ type: "withdraw", promptId: last.promptId }).then((receipt) => {
          if (receipt?.status === "done") edit(last.content, box);
        });
        return true;
      }
      const content = held.at(-1);
      if (content === undefined) return false;
      held = held.slice(0, -1);
      edit(content, box);
      return true;
    },
    hold: async () => {
      for (const { promptId, content } of feed.view.queue) {
        const receipt = await feed.host?.send({ type: "withdraw", promptId });
        if (receipt?.status === "done") held = [...held, content];
      }
    },
    get held() {
      return held;
    },
    stopShell: shell.stop,
    get shell() {
      return shell.running;
    },
  };
}

function isSent(receipt: Receipt | undefined): receipt is Receipt {
  return receipt?.status === "done";
}

/** Returns the paths of images that a prompt mentions, such as `@shot.png`. */
function mentionedImages(text: string): readonly string[] {
  return Array.from(text.matchAll(/(?:^|\s)@(\S+\.(?:png|jpe?g|gif|webp))(?=\s|$)/gi), ([, path = ""]) => path);
}
