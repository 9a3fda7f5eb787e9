import { platform } from "node:os";
import type { AgentDefinition, RunResult } from "../../protocol/index.ts";
import type { AvailableAgent } from "../../runs/index.ts";
import { docsDirectory, stateDirectory } from "../places.ts";
import { callBack } from "../session/with-callback.ts";
import { type LoadedAgents, renewable } from "./available-agents.ts";
import { type AgentCallback, type AgentEnvironment, functionsFor, splitAgents, writePrompt } from "./define-agent.ts";
import type { LoadedAgent } from "./load-agent-files.ts";
import { type LoadOptions, loadAgents } from "./load-agents.ts";

export interface DefinedAgent {
  readonly loaded: LoadedAgent;
  readonly callback?: AgentCallback | undefined;
}

/** What files, flags and the program's own functions give to the session's agent and to those that work for it. */
export async function loadDefinedAgents(
  options: LoadOptions,
  surroundings: Parameters<typeof loadAgents>[1],
): Promise<DefinedAgent> {
  const split = splitAgents(options.agents ?? {});
  const given = options.agents === undefined ? options : { ...options, agents: split.data };
  const loaded = await loadAgents(given, surroundings);
  const again = ({ snapshot }: LoadedAgents) => loadAgents(given, { ...surroundings, previous: snapshot });
  const environmentAt = (cwd: string): AgentEnvironment => ({
    cwd,
    platform: platform(),
    docsDirectory: docsDirectory(),
    stateDirectory: options.home || stateDirectory(surroundings.environment),
  });
  const functionsOf: FunctionsOf = (definition) => {
    const { prompt: write, callback } = functionsFor(definition, split);
    const name = definition?.name ?? "";
    return {
      prompt: write && ((cwd) => writePrompt(name, write, environmentAt(cwd))),
      callback,
    };
  };
  const { prompt, callback } = functionsOf(loaded.definition);
  return {
    loaded: {
      ...loaded,
      ...(prompt ? { prompt: prompt(surroundings.cwd) } : {}),
      agents: renewable(withFunctions(loaded.agents, functionsOf), async (agents) =>
        withFunctions((await again(agents)).agents, functionsOf),
      ),
    },
    callback,
  };
}

type FunctionsOf = (definition: AgentDefinition | undefined) => {
  readonly prompt: AvailableAgent["prompt"] | undefined;
  readonly callback: AgentCallback | undefined;
};

function withFunctions(agents: LoadedAgents, functionsOf: FunctionsOf): LoadedAgents {
  return {
    ...agents,
    find: (name) => {
      const found = agents.find(name);
      if (found === undefined) return undefined;
      const { definition } = found;
      const { prompt = found.prompt, callback } = functionsOf(definition);
      const followUp = callback && ((result: RunResult) => callBack(callback, result, { agentType: definition.name }));
      return { ...found, prompt, followUp };
    },
  };
}
