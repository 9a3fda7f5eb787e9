import { MAIN_AGENT, textOf } from "../protocol/index.ts";
import type { App } from "./app.ts";
import { type Commands, mentionedAgent } from "./commands.ts";
import { replacePart } from "./editor/editor.ts";
import type { PromptBox } from "./parts/prompt-box.ts";
import { type Row, span } from "./screen/row.ts";
import { cleanLines } from "./screen/text.ts";
import type { SessionFeed } from "./session-feed.ts";
import { delegationText, outputText, typedPrompt } from "./typed-prompt.ts";

export interface SubmitOptions {
  readonly app: App;
  readonly feed: SessionFeed;
  readonly commands: Commands;
  readonly isBusy: () => boolean;
}

/** Sends what the user has written: as a prompt, to an agent, or as a command. */
export interface Submit {
  /** Sends a prompt, or puts it into the queue while the main agent works. */
  enter(box: PromptBox): void;
  /** Sends a prompt, or the first one in the queue, so that the main agent reads it before its next step. */
  now(box: PromptBox): void;
  /** Takes the last prompt out of the queue and into the box. Returns false if the queue is empty. */
  editQueued(box: PromptBox): boolean;
  prompt(text: string): void;
  /** Stops the shell command of the user that is running. Returns false if there is none. */
  stopShell(): boolean;
  /** The shell command that is running. */
  readonly shell: string | undefined;
}

type When = "now" | "next";

interface Sending {
  readonly when: When;
  /** Outputs of shell commands that precede what the user has typed. */
  readonly before?: readonly string[] | undefined;
}

/** Rows of the output of a shell command that are shown. The whole output goes with the next prompt. */
const MAX_SHELL_ROWS = 40;

export function createSubmit({ app, feed, commands, isBusy }: SubmitOptions): Submit {
  let running: { readonly command: string; readonly stop: AbortController } | undefined;
  /** Shell commands and their outputs that the agent has not seen. */
  let outputs: string[] = [];

  /** Sends what the user has typed, after the outputs of shell commands, in which no image is looked for. */
  const sendTo = async (to: string, typed: string, { when, before = [] }: Sending): Promise<void> => {
    const host = app.host ?? (await feed.opened);
    const found = await Promise.all(mentionedImages(typed).map((path) => host?.image?.(path)));
    const images = found.filter((image) => image !== undefined);
    const text = [...before, typed].join("\n\n");
    await app.send({ type: "prompt", to, content: [{ type: "text", text }, ...images], when });
  };
  const sendMain = (text: string, when: When): void => {
    const before = outputs;
    outputs = [];
    void sendTo(MAIN_AGENT, text, { when, before });
  };
  const prompt = (text: string): void => sendMain(text, isBusy() ? "next" : "now");

  /** Carries out what is not a prompt for the main agent. Returns false if it is one. */
  function isSpecial(text: string): boolean {
    const [, command, argument = ""] = /^\/([\w:-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
    if (command !== undefined) {
      if (!commands.run(command, argument.trim()))
        app.say(`There is no command /${command}. /help lists the commands.`, "warn");
      return true;
    }
    if (text.startsWith("!")) {
      void runShell(text.slice(1).trim());
      return true;
    }
    const [, name = "", work = ""] = /^@([\w:.-]+)\s+([\s\S]+)$/.exec(text.trim()) ?? [];
    const agentId = mentionedAgent(app, name);
    if (agentId !== undefined) void sendTo(agentId, work, { when: "now" });
    else if (app.host?.facts.agents.includes(name)) prompt(delegationText(name, work));
    else return false;
    return true;
  }

  async function runShell(command: string): Promise<void> {
    const { shell } = app.host ?? {};
    if (command === "") return;
    if (shell === undefined || running !== undefined) {
      app.say(running === undefined ? "Commands can't be run in this session." : "A command is still running.", "warn");
      return;
    }
    const stop = new AbortController();
    running = { command, stop };
    app.redraw();
    const output = await shell(command, stop.signal);
    running = undefined;
    outputs.push(outputText(command, output));
    const lines = cleanLines(output);
    const shown = lines.slice(0, MAX_SHELL_ROWS).map((line): Row => [span(`  ${line}`)]);
    const more =
      lines.length > MAX_SHELL_ROWS ? [[span(`  … ${lines.length - MAX_SHELL_ROWS} more lines`, "dim")]] : [];
    app.print([[], [span("! ", "accent"), span(command, "bold")], ...(output === "" ? [] : shown), ...more]);
  }

  return {
    prompt,
    enter: (box) => {
      const { text, cursor } = box.editor;
      // A backslash at the end of a line continues it, for terminals in which no other key inserts a line break.
      if (text.slice(0, cursor).endsWith("\\")) {
        box.change(replacePart(box.editor, { from: cursor - 1, to: cursor }, "\n"));
        return;
      }
      const whole = box.take();
      if (whole.trim() !== "" && !isSpecial(whole)) prompt(whole);
    },
    now: (box) => {
      const text = box.take();
      const [first] = feed.view.queue;
      if (text.trim() !== "") sendMain(text, "now");
      else if (first !== undefined) {
        void app.send({ type: "withdraw", promptId: first.promptId }).then((receipt) => {
          if (receipt?.status !== "done") return;
          void app.send({ type: "prompt", to: MAIN_AGENT, content: first.content, when: "now" });
        });
      }
    },
    editQueued: (box) => {
      const last = feed.view.queue.at(-1);
      if (last === undefined) return false;
      void app.send({ type: "withdraw", promptId: last.promptId }).then((receipt) => {
        if (receipt?.status !== "done") return;
        const queued = typedPrompt(textOf(last.content));
        outputs = [...queued.outputs, ...outputs];
        box.set(queued.typed);
        app.redraw();
      });
      return true;
    },
    stopShell: () => {
      running?.stop.abort();
      return running !== undefined;
    },
    get shell() {
      return running?.command;
    },
  };
}

/** Returns the paths of images that a prompt mentions, such as `@shot.png`. */
function mentionedImages(text: string): readonly string[] {
  return Array.from(text.matchAll(/(?:^|\s)@(\S+\.(?:png|jpe?g|gif|webp))(?=\s|$)/gi), ([, path = ""]) => path);
}
