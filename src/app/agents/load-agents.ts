import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { MAIN_TYPE } from "../../agents/index.ts";
import type { Snapshot } from "../../definitions/index.ts";
import type { Settings } from "../../protocol/index.ts";
import { managedDirectory } from "../../settings/index.ts";
import { type Environment, stateDirectory } from "../places.ts";
import type { CatalogPlace } from "./agent-catalog.ts";
import { builtInAgentsOnly } from "./available-agents.ts";
import type { LoadedAgent } from "./load-agent-files.ts";

export interface LoadOptions {
  readonly agent?: string | undefined;
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  readonly trusted?: boolean;
  readonly entryPoint?: string;
  readonly catalogSettings?: CatalogPlace["settings"];
  readonly home?: string | false;
}

interface Surroundings {
  readonly cwd: string;
  readonly environment: Environment;
  readonly settings: Settings;
  /** Who worked in this session before. */
  readonly before: string | undefined;
  /** What was read before in this session. */
  readonly previous?: Snapshot | undefined;
}

/** What files and flags give to the session's agent. Reading definitions is loaded only where there may be something to read. */
export async function loadAgents(
  options: LoadOptions,
  { cwd, environment, settings, before, previous }: Surroundings,
): Promise<LoadedAgent> {
  const { agents, trusted = false, catalogSettings } = options;
  const agent = options.agent ?? (before === MAIN_TYPE ? undefined : before);
  const home = options.home || stateDirectory(environment);
  const builtIn = {
    disabled: disabledAgents(settings),
    entryPoint: entryPointOf(options, { environment, settings }),
    profile: settings.profile,
  };
  if (agent === undefined && agents === undefined) {
    const mayInstruct = trusted || (options.trusted !== undefined && hasTrustedFiles(home, environment));
    if (!mayInstruct && !hasAgents(settings)) {
      return { skills: [], readableRoots: [], notices: [], agents: builtInAgentsOnly(home, builtIn) };
    }
  }
  const { loadAgentFiles } = await import("./load-agent-files.ts");
  const isOld = options.agent === undefined;
  const named = agent === undefined ? undefined : { name: agent, isOld };
  return loadAgentFiles(named, {
    cwd,
    home,
    environment,
    trust: trusted,
    agents,
    settings: catalogSettings,
    previous,
    builtIn,
  });
}

/** Where instructions, skills and plugins may stand that need no trust; the reading itself decides what of them counts. */
function hasTrustedFiles(home: string, environment: Environment): boolean {
  const userHome = environment["HOME"] || homedir();
  return [
    join(home, "AGENTS.md"),
    join(home, "plugins.json"),
    join(userHome, ".agents/AGENTS.md"),
    join(userHome, ".agents/agents"),
    join(userHome, ".agents/skills"),
    join(userHome, ".claude/CLAUDE.md"),
    join(userHome, ".claude/agents"),
    join(userHome, ".claude/skills"),
    join(managedDirectory, "agents"),
    join(managedDirectory, "skills"),
  ].some((file) => existsSync(file));
}

/** Definitions in settings, or anything but a switch. */
function hasAgents({ agents = {} }: Settings): boolean {
  return Object.values(agents).some((value) => typeof value !== "boolean");
}

/** `"agents": { "Explore": false }` */
function disabledAgents({ agents = {} }: Settings): readonly string[] {
  return Object.keys(agents).filter((name) => agents[name] === false);
}

function entryPointOf(
  { entryPoint = "sdk" }: LoadOptions,
  { environment, settings }: { environment: Environment; settings: Settings },
): string {
  if (settings.subagents?.guide === false) return "sdk";
  return environment["CLAUDE_CODE_ENTRYPOINT"] || entryPoint;
}
