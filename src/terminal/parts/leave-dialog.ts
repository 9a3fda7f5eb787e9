import { plural } from "../../lib/index.ts";
import type { App } from "../app.ts";
import { busyAgents } from "./agents-panel.ts";
import { type Choice, openPicker } from "./picker.ts";

export interface LeaveOptions {
  readonly isBusy: () => boolean;
  readonly leave: (how: "stop" | "park") => Promise<void>;
}

type Way = "wait" | "park" | "stop" | "stay";

/** Leaves the terminal. If agents are running, asks what to do with them. */
export function openLeaveDialog(app: App, { isBusy, leave }: LeaveOptions): void {
  const count = busyAgents(app.view).length + (isBusy() ? 1 : 0);
  if (count === 0) {
    void leave("stop");
    return;
  }
  const isRemote = app.host?.facts.isRemote === true;
  const [they, them, finished, go] =
    count === 1 ? ["it", "it", "has finished", "continues"] : ["they", "them", "have finished", "continue"];
  const where = isRemote ? "on the server" : "when the session is resumed";
  const choices: readonly Choice<Way>[] = [
    { hotkey: "w", label: `Wait until ${they} ${finished}, then leave`, value: "wait" },
    { hotkey: "l", label: `Leave; ${they} ${go} ${where}`, value: "park" },
    { hotkey: "s", label: `Stop ${them} and leave`, value: "stop" },
    { hotkey: "c", label: "Cancel", value: "stay" },
  ];
  openPicker(app, {
    title: `${plural(count, "agent")} ${count === 1 ? "is" : "are"} running`,
    choices,
    onChoose: (way) => {
      if (way === "wait") void waitAndLeave();
      else if (way !== "stay") void stopAndLeave(way);
    },
  });

  async function stopAndLeave(way: "park" | "stop"): Promise<void> {
    // Closing the terminal does not close a session on a server, so its agents must be stopped.
    if (way === "stop") await app.send({ type: "stop", what: "tree" });
    await leave(way);
  }

  async function waitAndLeave(): Promise<void> {
    app.say("Leaving when all agents have finished.");
    const timer = setInterval(() => {
      if (isBusy() || busyAgents(app.view).length > 0) return;
      clearInterval(timer);
      void leave("stop");
    }, 100);
  }
}
