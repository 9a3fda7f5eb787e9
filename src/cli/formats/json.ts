import type { AgentViews } from "../progress/agent-views.ts";
import type { Format } from "./format.ts";
import { createResultCollector, failureObject } from "./result-object.ts";

/** Prints one object at the end, on one line. */
export function createJsonFormat(agents: AgentViews): Format {
  const collector = createResultCollector(agents);
  let sessionId: string | null = null;
  return {
    opened: (session) => {
      sessionId = session.id;
      return "";
    },
    update: (update) => {
      collector.observe(update);
      return "";
    },
    result: (result, cache) => `${JSON.stringify(collector.resultObject(result, cache))}\n`,
    failure: (failure) => `${JSON.stringify(failureObject(failure, sessionId))}\n`,
  };
}
