import { plural } from "../../lib/index.ts";
import type { App } from "../app.ts";
import type { ClosingWay, OwnServerFacts } from "../host.ts";
import { busyAgents } from "./agents-panel.ts";
import type { Choice } from "./choice.ts";
import type { Later } from "./later.ts";
import { openPicker } from "./picker.ts";

export interface LeaveOptions {
  readonly isBusy: () => boolean;
  readonly later: Later;
  readonly leave: (how: ClosingWay) => Promise<void>;
}

type Way = ClosingWay | "wait" | "stay";

/** Leaves the terminal. If agents are running, asks what to do with them. Never rejects. */
export async function openLeaveDialog(app: App, { isBusy, later, leave }: LeaveOptions): Promise<void> {
  const running = (): number => busyAgents(app.view).length + (isBusy() ? 1 : 0);
  const server = running() === 0 ? undefined : await app.host?.server?.();
  const count = running();
  if (count === 0) {
    await leave("stop");
    return;
  }
  const isRemote = app.host?.facts.isRemote === true;
  const { they, them, finished, go } = wordsFor(count);
  const where = isRemote ? "on the server" : "when the session is resumed";
  const choices: readonly Choice<Way>[] = [
    { hotkey: "w", label: `Wait until ${they} ${finished}, then quit`, value: "wait" },
    ...serveChoice(server, `Quit; ${they} ${go}`),
    { hotkey: "l", label: `Let ${them} continue ${where}, and quit`, value: "park" },
    { hotkey: "s", label: `Stop ${them} and quit`, value: "stop" },
    { hotkey: "c", label: "Cancel", value: "stay" },
  ];
  openPicker(app, {
    title: titleFor(count),
    choices,
    detail: (way) => (way === "park" ? (server?.advice ?? "") : ""),
    onChoose: (way) => {
      if (way === "wait") later.plan("Quitting", () => void leave("stop"));
      else if (way !== "stay") void stopAndLeave(way);
    },
  });

  async function stopAndLeave(way: ClosingWay): Promise<void> {
    // Closing the terminal does not close a session on a server, so its agents must be stopped.
    if (way === "stop") await app.send({ type: "stop", what: "tree" });
    await leave(way);
  }
}

export interface SwitchOptions {
  readonly isBusy: boolean;
  readonly later: Later;
  /** Description of the switch for the user, such as `Starting a new session`. */
  readonly what: string;
  /** Opens the other session. Resolves with false if that is not possible. */
  readonly open: (how: ClosingWay) => Promise<boolean>;
}

/**
 * Asks what to do with the running agents before another session is opened. Calls `open` unless the user cancels, and
 * says what has happened to the agents. On a server, they simply continue. Never rejects.
 */
export async function askToSwitch(app: App, { isBusy, later, what, open }: SwitchOptions): Promise<void> {
  const count = busyAgents(app.view).length + (isBusy ? 1 : 0);
  const { they, them, finished, go } = wordsFor(count);
  const openAndTell = async (how: ClosingWay, outcome: string): Promise<void> => {
    later.cancel();
    if ((await open(how)) && count > 0) app.say(`${plural(count, "agent")} from the previous session ${outcome}.`);
  };
  const outcomes: Readonly<Record<ClosingWay, string>> = {
    stop: `${count === 1 ? "was" : "were"} stopped`,
    park: `${go} when you /resume it`,
    serve: `${go} on the server`,
  };
  if (count === 0 || app.host?.facts.isRemote === true) {
    await openAndTell("stop", outcomes.serve);
    return;
  }
  const server = await app.host?.server?.();
  openPicker<Way>(app, {
    title: titleFor(count),
    choices: [
      { hotkey: "w", label: `Wait until ${they} ${finished}, then leave this session`, value: "wait" },
      ...serveChoice(server, `Leave this session; ${they} ${go}`),
      { hotkey: "l", label: `Leave this session; ${they} ${go} when it is resumed`, value: "park" },
      { hotkey: "s", label: `Stop ${them} and leave this session`, value: "stop" },
      { hotkey: "c", label: "Cancel", value: "stay" },
    ],
    onChoose: (way) => {
      if (way === "wait") later.plan(what, () => void open("stop"));
      else if (way !== "stay") void openAndTell(way, outcomes[way]);
    },
  });
}

/** Returns the choice to let agents continue on the user's server, if it is running. */
function serveChoice(server: OwnServerFacts | undefined, what: string): readonly Choice<"serve">[] {
  return server?.isRunning ? [{ hotkey: "r", label: `${what} on the server ${server.url}`, value: "serve" }] : [];
}

function titleFor(count: number): string {
  return `${plural(count, "agent")} ${count === 1 ? "is" : "are"} running`;
}

function wordsFor(count: number): Readonly<Record<"they" | "them" | "finished" | "go", string>> {
  return count === 1
    ? { they: "it", them: "it", finished: "has finished", go: "continues" }
    : { they: "they", them: "them", finished: "have finished", go: "continue" };
}
