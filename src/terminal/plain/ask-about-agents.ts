import { type AgentView, activityWords, agentOf, tokensOf } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { App } from "../app.ts";
import { thousands } from "../conversation/item-rows.ts";
import { actOnAgent, agentKeys, messageAgent } from "../parts/agent-actions.ts";
import { allAgents, labelOf } from "../parts/agents-panel.ts";
import { askForNumber } from "./ask-for-number.ts";
import { askForText } from "./ask-for-text.ts";
import { printTranscript } from "./print-transcript.ts";

/** Lists the agents for a screen reader, and asks what to do with one of them. Does nothing if there are none. */
export function askAboutAgents(app: App): void {
  const agents = allAgents(app.view);
  if (agents.length === 0) return;
  askForNumber(app, {
    title: "Which agent?",
    choices: agents.map((agent) => ({
      label: labelOf(agent),
      about: activityWords(agent),
      facts: `${thousands(tokensOf(agent.usage))} tokens`,
      value: agent.agentId,
    })),
    onChoose: (agentId) => askWhatToDo(app, agentId),
  });
}

function askWhatToDo(app: App, agentId: AgentId): void {
  const agent = agentOf(app.view, agentId);
  if (agent === undefined) return;
  askForNumber(app, {
    title: `What about ${labelOf(agent)}?`,
    choices: [
      { label: "Read its conversation", value: "enter" },
      // The first character is the key.
      ...agentKeys(agent).map(([key = ""]) => ({ label: actions(agent)[key] ?? key, value: key })),
    ],
    onChoose: (key) => {
      if (key === "enter") void printTranscript(app, agentId);
      else if (key === "m") askForMessage(app, agent);
      else actOnAgent(app, agent, { key });
    },
  });
}

function actions({ background }: AgentView): Readonly<Record<string, string>> {
  return {
    m: "Send it a message",
    s: "Stop it",
    r: "Resume it",
    b: background ? "Make its caller wait for it" : "Move it to the background",
  };
}

function askForMessage(app: App, agent: AgentView): void {
  app.say(`Write a message to ${labelOf(agent)} and press Enter. Esc sends nothing.`);
  askForText(app, {
    label: "Message: ",
    onText: (text) => {
      if (text !== "") messageAgent(app, agent.agentId, text);
      return true;
    },
    onCancel: () => app.say("Nothing was sent."),
  });
}
