import { platform } from "node:os";
import type { AgentDefinition } from "../protocol/index.ts";
import { type AgentCallback, type AgentEnvironment, functionsFor, splitAgents, writePrompt } from "./define-agent.ts";
import { docsDirectory } from "./docs-directory.ts";
import { type Gathering, gather } from "./gather.ts";
import type { GatheredAgent } from "./gather-agent.ts";
import { type Household, type HouseholdAgent, renewable } from "./household.ts";
import { stateDirectory } from "./places.ts";

export interface DefinedAgent {
  readonly gathered: GatheredAgent;
  readonly callback?: AgentCallback;
}

/** What files, flags and the program's own functions give to the session's agent and to those that work for it. */
export async function gatherDefined(
  options: Gathering,
  surroundings: Parameters<typeof gather>[1],
): Promise<DefinedAgent> {
  const split = splitAgents(options.agents ?? {});
  const given = options.agents === undefined ? options : { ...options, agents: split.data };
  const gathered = await gather(given, surroundings);
  const again = ({ snapshot }: Household) =>
    gather(given, { ...surroundings, ...(snapshot ? { previous: snapshot } : {}) });
  const environmentAt = (cwd: string): AgentEnvironment => ({
    cwd,
    platform: platform(),
    docsDirectory: docsDirectory(),
    stateDirectory: options.home || stateDirectory(surroundings.environment),
  });
  const functionsOf: FunctionsOf = (definition) => {
    const { prompt: write, callback } = functionsFor(definition, split);
    return {
      ...(write ? { prompt: (cwd) => writePrompt(definition?.name ?? "", write, environmentAt(cwd)) } : {}),
      ...(callback ? { callback } : {}),
    };
  };
  const { prompt, ...own } = functionsOf(gathered.definition);
  return {
    gathered: {
      ...gathered,
      ...(prompt ? { prompt: prompt(surroundings.cwd) } : {}),
      household: renewable(withFunctions(gathered.household, functionsOf), async (household) =>
        withFunctions((await again(household)).household, functionsOf),
      ),
    },
    ...own,
  };
}

type FunctionsOf = (definition: AgentDefinition | undefined) => Partial<Pick<HouseholdAgent, "prompt" | "callback">>;

function withFunctions(household: Household, functionsOf: FunctionsOf): Household {
  return {
    ...household,
    find: (name) => {
      const found = household.find(name);
      return found && { ...found, ...functionsOf(found.definition) };
    },
  };
}
