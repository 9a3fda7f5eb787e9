import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { lintAgent, type Override, readAgentFile } from "../../definitions/index.ts";
import { type Diagnostic, toolNames } from "../../protocol/index.ts";
import { type AgentCatalog, type CatalogAgent, type CatalogPlace, loadAgentCatalog } from "../agents/agent-catalog.ts";
import { type MarkdownFile, markdownFiles } from "../agents/markdown-files.ts";
import { readStart } from "../agents/read-start.ts";
import { missingSkills, unknownAgent } from "../agents/unknown-agent.ts";

export interface LintReport {
  /** How many agents were looked at. */
  readonly agents: number;
  readonly findings: readonly Diagnostic[];
  /** What was not read since the directory is not trusted. */
  readonly off: readonly string[];
}

/** Targets are names, files or directories; without any, every agent that is not built in. */
export async function lintAgents(targets: readonly string[], place: CatalogPlace): Promise<LintReport> {
  const paths = targets.filter((target) => existsSync(target));
  const names = targets.filter((target) => !paths.includes(target));
  const files = paths.flatMap((path) => [...markdownFiles(path)].filter(isAgent));
  const read = await Promise.all(files.map((file) => lintFile(file, { isNamed: paths.includes(file.path) })));
  const ofFiles = read.filter((each) => each !== undefined);
  if (paths.length > 0 && names.length === 0) {
    return { agents: ofFiles.length, findings: ofFiles.flat(), off: [] };
  }
  const loaded = await loadAgentCatalog(place);
  const chosen = names.length > 0 ? names.map((name) => named(name, loaded)) : written(loaded);
  const findings = [...ofFiles.flat(), ...chosen.flatMap((agent) => lintOne(agent, loaded))];
  const unloaded = names.length > 0 ? [] : loaded.diagnostics.filter(({ severity }) => severity === "error");
  return {
    agents: ofFiles.length + chosen.length,
    findings: [...unloaded, ...findings],
    off: names.length > 0 ? [] : loaded.snapshot.off,
  };
}

function isAgent({ path }: MarkdownFile): boolean {
  return basename(path).toLowerCase() !== "skill.md";
}

/** Undefined: a text beside the agents. */
async function lintFile(
  { path, file, problem }: MarkdownFile,
  { isNamed }: { isNamed: boolean },
): Promise<Diagnostic[] | undefined> {
  const read = problem === undefined ? readStart(path, file) : { problem };
  if ("problem" in read) return [read.problem];
  const { bytes } = read;
  const { definition, body, diagnostics } = await readAgentFile({ bytes, file: resolve(path), source: "project" });
  if (!isNamed && diagnostics.some(({ code }) => code === "no_frontmatter")) return undefined;
  const lint = definition === undefined ? [] : lintAgent({ definition, body: body(), knownTools: toolNames });
  return [...diagnostics, ...lint].map((diagnostic) => ({ ...diagnostic, file }));
}

function named(name: string, loaded: AgentCatalog): CatalogAgent {
  const found = loaded.catalog.find(name);
  if (found === undefined) throw unknownAgent(name, loaded);
  return found.agent;
}

function written({ catalog }: AgentCatalog): CatalogAgent[] {
  return catalog.agents.filter(({ definition }) => definition.source !== "built-in");
}

function lintOne({ definition, body }: CatalogAgent, loaded: AgentCatalog): Diagnostic[] {
  const { catalog, diagnostics } = loaded;
  const ofFile = diagnostics.filter(({ file }) => file === definition.file);
  const shadows = catalog.overrides.filter(({ winner }) => winner.definition === definition).map(shadowed);
  const skills = missingSkills(definition, loaded);
  return [...ofFile, ...skills, ...shadows, ...lintAgent({ definition, body: body(), knownTools: toolNames })];
}

/** Mostly meant, so only good to know. */
function shadowed({ winner, loser, reason }: Override<CatalogAgent>): Diagnostic {
  const { name, source, file = source } = winner.definition;
  const hidden = loser.definition.file ?? `the agent of ${loser.definition.source}`;
  const message = `"${name}" takes the place of ${hidden}. ${reason}`;
  return { severity: "notice", file, line: 1, code: "shadows", message };
}
