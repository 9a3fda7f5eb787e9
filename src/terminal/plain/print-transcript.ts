import { activityWords, agentOf, elements } from "../../client/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import type { App } from "../app.ts";
import { isToldByEnd, printedItem } from "../conversation/item-rows.ts";
import { labelIn, labelOf } from "../parts/agents-panel.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine } from "../screen/text.ts";

/** Prints an agent's conversation from its beginning, for screen readers. Never rejects. */
export async function printTranscript(app: App, agentId: AgentId, isWhole = false): Promise<void> {
  await app.watch(agentId);
  const agent = agentOf(app.view, agentId);
  app.unwatch(agentId);
  if (agent === undefined) return;
  const name = agentId === MAIN_AGENT ? "the main agent" : labelOf(agent);
  const options = {
    columns: app.columns,
    isPlain: true,
    isWhole,
    nameOf: (id: AgentId) => labelIn(app.view, id),
    user: app.user,
  };
  const rows = Array.from(elements(agent.items)).flatMap((item): readonly Row[] => {
    const printed = isToldByEnd(item, agent) ? undefined : printedItem(item, options);
    return printed === undefined || printed.rows.length === 0 ? [] : [[], ...printed.rows];
  });
  const line = (text: string): Row => [span(cleanLine(text))];
  app.print([
    [],
    line(`Conversation of ${name}:`),
    ...rows,
    [],
    line(`End of the conversation of ${name}. Current activity: ${activityWords(agent)}.`),
  ]);
}
