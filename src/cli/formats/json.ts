import type { AgentViews } from "../progress/agent-views.ts";
import type { Format } from "./format.ts";
import { failureObject, resultObject } from "./result-object.ts";
import { createWitness } from "./witness.ts";

/** One object at the end, on one line. */
export function createJsonFormat(agents: AgentViews): Format {
  const witness = createWitness();
  let sessionId: string | null = null;
  return {
    opened: (session) => {
      sessionId = session.id;
      return "";
    },
    update: (update) => {
      witness.see(update);
      return "";
    },
    result: (result, cache) =>
      `${JSON.stringify(resultObject(result, { witness, agents: agents.inOrder(), cache }))}\n`,
    failure: (failure) => `${JSON.stringify(failureObject(failure, sessionId))}\n`,
  };
}
