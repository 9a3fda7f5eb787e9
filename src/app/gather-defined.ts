import { platform } from "node:os";
import { type AgentCallback, functionsFor, splitAgents, writePrompt } from "./define-agent.ts";
import { docsDirectory } from "./docs-directory.ts";
import { type Gathering, gather } from "./gather.ts";
import type { GatheredAgent } from "./gather-agent.ts";
import { stateDirectory } from "./places.ts";

export interface DefinedAgent {
  readonly gathered: GatheredAgent;
  readonly callback?: AgentCallback;
}

/** What files, flags and the program's own functions give to the session's agent. */
export async function gatherDefined(
  options: Gathering,
  surroundings: Parameters<typeof gather>[1],
): Promise<DefinedAgent> {
  const split = splitAgents(options.agents ?? {});
  const given = options.agents === undefined ? options : { ...options, agents: split.data };
  const gathered = await gather(given, surroundings);
  const { prompt, callback } = functionsFor(gathered.definition, split);
  const { cwd, environment } = surroundings;
  const place = {
    cwd,
    platform: platform(),
    docsDirectory: docsDirectory(),
    stateDirectory: options.home || stateDirectory(environment),
  };
  const name = gathered.definition?.name ?? "";
  return {
    gathered: prompt === undefined ? gathered : { ...gathered, prompt: writePrompt(name, prompt, place) },
    ...(callback === undefined ? {} : { callback }),
  };
}
