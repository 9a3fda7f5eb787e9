import { type AgentView, stateOf } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { App } from "../app.ts";
import { cleanLine } from "../screen/text.ts";
import { nameOf } from "./agents-panel.ts";
import { openPicker } from "./picker.ts";

interface PressedKey {
  readonly key: string;
  /**
   * Called with the user's text if the key was the beginning of a sentence. By default, the text goes to the prompt
   * box.
   */
  readonly onType?: ((text: string) => void) | undefined;
}

/** Carries out a key's action for an agent. Returns false if the key has none. */
export function actOnAgent(app: App, agent: AgentView, { key, onType = app.type }: PressedKey): boolean {
  const { agentId, background } = agent;
  switch (key) {
    case "s":
      if (stateOf(agent) !== "ended") askToStop();
      return true;
    case "r":
      void tell(app, { type: "resume", agent: agentId });
      return true;
    case "b":
      void tell(app, { type: background ? "foreground" : "background", agent: agentId });
      return true;
    default:
      return false;
  }

  function askToStop(): void {
    openPicker(app, {
      title: `Stop ${nameOf(agent)}${agent.description === "" ? "" : ` (${cleanLine(agent.description)})`}?`,
      choices: [
        { hotkey: "c", label: "Let it continue", value: false },
        { hotkey: "s", label: "Stop it", value: true },
      ],
      onType: (text) => onType(`s${text}`),
      onChoose: (isSure) => {
        if (isSure) void tell(app, { type: "stop", what: agentId });
      },
    });
  }
}

/** Sends a message to an agent, and reports the result. */
export function messageAgent(app: App, agentId: AgentId, text: string): void {
  void tell(app, { type: "prompt", to: agentId, content: [{ type: "text", text }], when: "now" });
}

async function tell(app: App, command: Parameters<App["send"]>[0]): Promise<void> {
  const receipt = await app.send(command);
  if (receipt?.status === "done") app.say(receipt.message);
}

/** Lists the keys that currently have an effect on an agent. */
export function agentKeys({ end, isCutOff, background }: AgentView): readonly string[] {
  if (end === undefined && !isCutOff) return ["m message", "s stop", background ? "b wait for it" : "b background"];
  return end?.reason === "done" ? ["m message"] : ["m message", "r resume"];
}
