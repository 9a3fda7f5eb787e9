import { stripControls } from "../../lib/index.ts";
import type { RunResult, SessionId } from "../../protocol/index.ts";
import type { AgentView } from "../progress/agent-view.ts";
import { cutWords, goOnPrompt } from "./closing-message.ts";
import { receiptOf } from "./receipt.ts";
import { unverifiedWords } from "./unverified-words.ts";

export interface Closing {
  readonly sessionId: SessionId;
  readonly agents: readonly AgentView[];
  /** Whether this sentence stands there already. */
  readonly isTold: (sentence: string) => boolean;
}

/** What a person reads after a run that did not get everything done: what was cut, why, and how it goes on. */
export function closingWords(result: RunResult, { sessionId, agents, isTold }: Closing): string {
  const { outcome, facts, acceptance } = result;
  const told = outcome === "stopped" ? receiptOf(agents) : cutWords(agents, facts.agentsCut);
  const resume = `retinue -p --resume ${sessionId}`;
  if (outcome === "succeeded" && acceptance?.ok === false) {
    const said = acceptance.output === "" ? "" : `${stripControls(acceptance.output)}\n`;
    return `${sentences([...told, unverifiedWords(acceptance)])}${said}${sentences([`To go on: ${resume} "…"`])}`;
  }
  if (outcome === "succeeded") {
    const words = goOnPrompt(agents);
    return sentences([...told, ...(words === undefined ? [] : [`To let it go on: ${resume} "${words}"`])]);
  }
  const why = result.message ?? `The run ended: ${result.reason}.`;
  // A model that can't do it says why in its text, which stands on standard output already.
  const reason = why.trim() === result.text.trim() || isTold(why) ? [] : [why];
  return sentences([...told, ...reason, `To go on: ${resume} "…"`]);
}

function sentences(lines: readonly string[]): string {
  return lines.map((line) => `retinue: ${stripControls(line)}\n`).join("");
}
