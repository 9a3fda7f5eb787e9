import { agentOf, elements, stateOf, tokensOf, totalsOf } from "../client/index.ts";
import { describeError, formatCount, plural } from "../lib/index.ts";
import type { App } from "./app.ts";
import { textColumns } from "./conversation/item-rows.ts";
import type { CommandTools, HostCommand } from "./host-command.ts";
import { mainKeys } from "./main-keys.ts";
import { dollars, nameOf } from "./parts/agents-panel.ts";
import type { Later } from "./parts/later.ts";
import { askToSwitch } from "./parts/leave-dialog.ts";
import { openPicker } from "./parts/picker.ts";
import type { TerminalProgram } from "./program.ts";
import { type Row, span } from "./screen/row.ts";
import { cleanLine, cleanLines, pad, spread, widthOf, wrap } from "./screen/text.ts";
import { sessionCommands } from "./session-commands.ts";
import type { SessionFeed } from "./session-feed.ts";

export interface CommandsOptions {
  readonly app: App;
  readonly feed: SessionFeed;
  readonly program: TerminalProgram;
  readonly tools: CommandTools;
  readonly later: Later;
  readonly isBusy: () => boolean;
  readonly leave: () => void;
  readonly clear: () => void;
}

/** The commands that a user can type after a slash. */
export interface Commands {
  list(): readonly Pick<HostCommand, "name" | "about">[];
  /** Carries out a command. Returns false if there is none with this name. */
  run(name: string, argument: string): boolean;
}

export function createCommands({ app, feed, program, tools, later, isBusy, leave, clear }: CommandsOptions): Commands {
  const own: readonly HostCommand[] = [
    { name: "help", about: "show what you can type", run: async () => showHelp() },
    {
      name: "resume",
      about: "continue an earlier session",
      isQuiet: true,
      choices: sessions,
      noChoices: "There is no other session in this directory.",
      run: async (id) => open(id),
    },
    { name: "new", about: "start a new session", isQuiet: true, run: async () => open(undefined) },
    ...sessionCommands(app, tools.write),
    { name: "cost", about: "show what the agents have cost", run: async () => showCost() },
    { name: "clear", about: "clear the screen", isQuiet: true, run: silently(clear) },
    { name: "quit", about: "quit Retinue", isQuiet: true, run: silently(leave) },
  ];
  const all = (): readonly HostCommand[] => [...own, ...(app.host?.commands() ?? [])];

  async function run(command: HostCommand, argument: string): Promise<void> {
    try {
      const choices = argument === "" ? await command.choices?.() : undefined;
      if (choices === undefined) {
        if (!command.isQuiet) app.print([[], [span(cleanLine(`/${command.name} ${argument}`.trimEnd()), "dim")]]);
        print(await command.run(argument, tools));
      } else if (choices.length === 0) app.say(command.noChoices ?? "There is nothing to choose from.");
      else
        openPicker(app, {
          title: inSentenceCase(command.about),
          choices,
          onChoose: (value) => void run(command, value),
        });
    } catch (error) {
      app.say(describeError(error), "bad");
    }
  }

  function print(text: string): void {
    if (text.trim() === "") return;
    const columns = textColumns(app.columns);
    const rows = cleanLines(text.trimEnd()).flatMap((line): readonly Row[] => {
      if (widthOf(line) <= app.columns - 3 && line.trim().includes("  ")) return [[span(`  ${line}`)]];
      // A name and its description are separated by several spaces.
      const [, name = "", rest = line] = /^(\s*\S+(?: \S+)*\s{2,})(\S.*)$/.exec(line) ?? [];
      return wrap([span(rest)], { columns, first: [span(`  ${name}`)] });
    });
    app.print([[], ...rows]);
  }

  async function sessions() {
    const listed = await program.sessions();
    return listed
      .filter(({ id }) => id !== app.host?.facts.sessionId)
      .map(({ id, title, updatedAt, state }) => ({
        value: id,
        label: title === "" ? id : title,
        facts: [state, ago(app.now() - updatedAt)].filter((part) => part !== "").join(" · "),
      }));
  }

  async function open(id: string | undefined): Promise<string> {
    const what = id === undefined ? "Starting a new session" : "Resuming the other session";
    await askToSwitch(app, { isBusy: isBusy(), later, what, open: (how) => feed.open(id, how) });
    return "";
  }

  function showHelp(): string {
    const parts: readonly (readonly [string, Help])[] = [
      ["Commands", all().map(({ name, about }) => [`/${name}`, about])],
      ["In a prompt", help],
      ["Keys", [...Object.values(mainKeys), ...otherKeys]],
      ["In the list of agents", agentKeys],
      ["In a request", requestKeys],
    ];
    const columns = textColumns(app.columns);
    const rows = parts.flatMap(([title, entries]) => [
      [],
      [span(`  ${title}`, "bold")],
      ...entries.flatMap(([key, about]) =>
        wrap([span(cleanLine(about))], { columns, first: [span(`  ${pad(key, 14)}`, "accent")] }),
      ),
    ]);
    app.print(rows);
    return "";
  }

  function showCost(): string {
    const { usage, costUsd, isCostKnown, isCostAtMost, turns, toolCalls } = totalsOf(app.view);
    const agents = [...elements(app.view.agents)]
      .sort((left, right) => (right.costUsd ?? 0) - (left.costUsd ?? 0))
      .slice(0, MAX_COSTS);
    const rows = agents.map((agent): Row => {
      const cost = agent.costUsd === undefined ? "no price" : dollars(agent.costUsd, agent.isCostAtMost);
      const width = Math.min(78, app.columns - 1);
      const pad = width < NARROW ? 0 : 11;
      const figures = `${formatCount(tokensOf(agent.usage)).padStart(pad)} tokens ${cost.padStart(8)}`;
      return spread([span(`  ${nameOf(agent)}`), span(`  ${agent.description}`, "dim")], [span(figures, "dim")], width);
    });
    const more = app.view.agents.length - agents.length;
    const total = isCostKnown
      ? dollars(costUsd, isCostAtMost)
      : `${dollars(costUsd, isCostAtMost)} and requests without a known price`;
    app.print([
      [],
      ...wrap(
        [
          span(total, "bold"),
          span(
            `  ${plural(turns, "turn")}, ${plural(toolCalls, "call")}, ${formatCount(tokensOf(usage))} tokens`,
            "dim",
          ),
        ],
        { columns: textColumns(app.columns), first: [span("  ")] },
      ),
      [span(`  ${formatCount(usage.cacheReadTokens)} of them read from the cache`, "dim")],
      ...rows,
      ...(more > 0 ? [[span(`  and ${plural(more, "more agent")}`, "dim")]] : []),
    ]);
    return "";
  }

  return {
    list: all,
    run: (name, argument) => {
      const command = all().find((each) => each.name === name);
      if (command !== undefined) void run(command, argument);
      return command !== undefined;
    },
  };
}

const MAX_COSTS = 12;
/** A narrower terminal has no room for aligned figures. */
const NARROW = 60;

type Help = readonly (readonly [string, string])[];

const help: Help = [
  ["@file", "mention a file; Tab completes its path"],
  ["@agent text", "give work to an agent, or send a message to one that is running"],
  ["!command", "run a shell command; its output is sent with your next prompt"],
  ["\\ and Enter", "insert a line break; so do Alt+Enter and Ctrl+J"],
];

/** Keys that also work outside the main screen. */
const otherKeys: Help = [
  ["Ctrl+A Ctrl+E", "go to the start or end of the line; Alt+B and Alt+F move by words"],
  ["Ctrl+W U K Y", "delete a word, or to the start or end of the line; Y reinserts it"],
  ["Ctrl+Z", "suspend; `fg` continues"],
];

const agentKeys: Help = [
  ["Enter", "open the transcript"],
  ["m", "send a message"],
  ["s r", "stop the agent, or resume it"],
  ["b", "move the agent to the background, or wait for it again"],
  ["/", "filter the list"],
];

const requestKeys: Help = [
  ["y a + Enter", "allow the call once, or always"],
  ["e + Enter", "edit the call, then allow it"],
  ["n + Enter", "deny the call, with a message for the model if you like"],
  ["Esc", "write a prompt first; Tab returns to the request"],
];

/** Wraps an action as a command that prints nothing. */
function silently(action: () => void): HostCommand["run"] {
  return async () => {
    action();
    return "";
  };
}

function inSentenceCase(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Formats the time since an event: `7200000` becomes `2 h ago`. */
function ago(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / (24 * 60))} d ago`;
}

/** Returns the subagent that a mention names, if exactly one with this name or type can receive messages. */
export function mentionedAgent(app: App, name: string): string | undefined {
  const named = [...elements(app.view.agents)].filter((agent) => agent.path.length > 0 && nameOf(agent) === name);
  const running = named.filter((agent) => stateOf(agent) !== "ended");
  const [found, ...others] = running.length > 0 ? running : named.filter((agent) => agent.name === name);
  return found !== undefined && others.length === 0 ? agentOf(app.view, found.agentId)?.agentId : undefined;
}
