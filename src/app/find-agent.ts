import { builtInAgents } from "../definitions/index.ts";
import { nearest, UserError } from "../lib/index.ts";
import type { AgentDefinition } from "../protocol/index.ts";
import { docsDirectory } from "./docs-directory.ts";
import type { Environment } from "./places.ts";

export interface FoundAgent {
  readonly definition: AgentDefinition;
  readonly prompt: string;
  /** What this agent may read beyond the workspace. */
  readonly readableRoots: readonly string[];
}

export interface AgentSearch {
  readonly environment: Environment;
  readonly stateDirectory: string;
  /** How the program was entered. */
  readonly entryPoint: string;
}

/** The agent of this name or alias. Throws a `UserError` that names the nearest ones. */
export function findAgent(name: string, search: AgentSearch): FoundAgent {
  const entryPoint = search.environment["CLAUDE_CODE_ENTRYPOINT"] || search.entryPoint;
  const agents = builtInAgents({ entryPoint });
  const found =
    agents.find(({ definition, aliases }) => definition.name === name || aliases.includes(name)) ??
    agents.find(({ definition }) => definition.name.toLowerCase() === name.toLowerCase());
  if (found === undefined)
    throw unknownAgent(
      name,
      agents.map(({ definition }) => definition.name),
    );
  const docs = docsDirectory();
  const { definition } = found;
  return {
    definition,
    prompt: found.prompt({ docsDirectory: docs, stateDirectory: search.stateDirectory }),
    readableRoots: definition.name === "retinue-guide" ? [docs] : [],
  };
}

function unknownAgent(name: string, names: readonly string[]): UserError {
  const near = nearest(name, names, 10);
  const cure = near.length > 0 ? `Did you mean ${near.join(", ")}?` : `There are ${names.join(", ")}.`;
  return new UserError(`There is no agent "${name}".`, { code: "agent", cure, exitCode: 2 });
}
