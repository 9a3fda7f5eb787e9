import { homedir } from "node:os";
import { MAIN_TYPE } from "../agents/index.ts";
import { contextText, findSkills, memoryDirectory, memoryIndex, projectLevels } from "../definitions/index.ts";
import { UserError } from "../lib/index.ts";
import type { AgentDefinition, Diagnostic } from "../protocol/index.ts";
import { type AgentCatalog, type CatalogPlace, loadAgentCatalog } from "./agent-catalog.ts";
import { docsDirectory } from "./docs-directory.ts";
import { unknownAgent } from "./unknown-agent.ts";

/** What files and flags give to the agent of a session. */
export interface GatheredAgent {
  /** Absent: the main agent itself. */
  readonly definition?: AgentDefinition;
  readonly prompt?: string;
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: string;
  readonly projectContext?: string;
  /** What it may read beyond the workspace. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
}

export interface NamedAgent {
  readonly name: string;
  /** Nobody named it now: it worked in this session before. */
  readonly isOld: boolean;
}

/** Everything an agent is made of, by its name. Throws a `UserError` for one that is not there. */
export async function gatherAgent(named: NamedAgent | undefined, place: CatalogPlace): Promise<GatheredAgent> {
  const loaded = await loadAgentCatalog(place);
  const wrong = loaded.diagnostics.find(({ file, severity }) => file === "--agents" && severity === "error");
  if (wrong !== undefined) throw new UserError(wrong.message, { code: "agents", exitCode: 2, ...cureOf(wrong) });
  const projectContext = contextText(loaded.snapshot.contextFiles);
  const context = projectContext === undefined ? {} : { projectContext };
  const aboutContext = aboutFiles(loaded, new Set(loaded.snapshot.contextFiles.map(({ file }) => file)));
  const main = { ...context, skills: [], readableRoots: [], notices: aboutContext };
  if (named === undefined) return main;
  const found = loaded.catalog.find(named.name);
  if (found === undefined && named.name === MAIN_TYPE) return main;
  if (found === undefined) throw missingAgent(named, loaded);
  const { definition, body } = found.agent;
  const { found: skills, diagnostics } = findSkills(loaded.snapshot.skills, definition.skills ?? [], {
    file: definition.file ?? definition.name,
  });
  const memory = memoryOf(definition, { ...place, trusted: loaded.trusted });
  const isGuide = definition.source === "built-in" && definition.name === "retinue-guide";
  return {
    ...context,
    definition,
    prompt: body(),
    skills: skills.map((skill) => ({ name: skill.definition.name, text: skill.body() })),
    ...(memory?.text === undefined ? {} : { memory: memory.text }),
    readableRoots: [...(isGuide ? [docsDirectory()] : []), ...(memory ? [memory.directory] : [])],
    notices: [
      ...(definition.omitProjectContext ? [] : aboutContext),
      ...aboutFiles(loaded, new Set([definition.file ?? ""])),
      ...diagnostics.map(described),
    ],
  };
}

function memoryOf(
  { memory: scope, name: agent }: AgentDefinition,
  { cwd, home: stateHome, environment, trusted }: CatalogPlace & { readonly trusted: boolean },
): { readonly directory: string; readonly text?: string } | undefined {
  if (scope === undefined || (scope !== "user" && !trusted)) return undefined;
  const { root: projectRoot } = projectLevels({ cwd, home: environment["HOME"] || homedir() });
  const directory = memoryDirectory({ scope, agent, stateHome, projectRoot });
  const index = memoryIndex({ directory, within: scope === "user" ? stateHome : projectRoot });
  return index && { directory, text: index.text };
}

/** What is wrong with these files; what is only good to know stays with `retinue agents check`. */
function aboutFiles({ diagnostics }: AgentCatalog, files: ReadonlySet<string>): readonly string[] {
  return diagnostics.filter(({ file, severity }) => severity !== "notice" && files.has(file)).map(described);
}

function described({ file, line, message, fix }: Diagnostic): string {
  return `${file}:${line}: ${message}${fix === undefined ? "" : ` ${fix}`}`;
}

function missingAgent({ name, isOld }: NamedAgent, loaded: AgentCatalog): UserError {
  const unknown = unknownAgent(name, loaded);
  if (!isOld) return unknown;
  const cure = `${unknown.cure} To go on with another one: --agent NAME, or --agent ${MAIN_TYPE}.`;
  const message = `This session was worked on by the agent "${name}", which is no longer there`;
  return new UserError(message, { code: "agent", cure, exitCode: 2 });
}

function cureOf({ fix }: Diagnostic): { readonly cure?: string } {
  return fix === undefined ? {} : { cure: fix };
}
