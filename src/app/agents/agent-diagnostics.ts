import { chooseEffort, MAIN_TYPE } from "../../agents/index.ts";
import { findSkills, isPluginProblem } from "../../definitions/index.ts";
import { checkMatcher } from "../../hooks/index.ts";
import { misspelledName, plural, UserError } from "../../lib/index.ts";
import { checkServerConfig } from "../../mcp/index.ts";
import { describeNamedModel, misspelledTier } from "../../model/index.ts";
import {
  type AgentDefinition,
  agentAliases,
  type Diagnostic,
  type Snapshot,
  UNAPPROVED,
} from "../../protocol/index.ts";
import type { AgentCatalog } from "./agent-catalog.ts";

/** Returns an error with similar names, or with the reason why the agent is not available. */
export function unknownAgent(name: string, loaded: AgentCatalog): UserError {
  const { catalog, diagnostics, snapshot } = loaded;
  const off = loaded.switchedOff.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (off !== undefined) {
    const message = `The built-in agent "${off.name}" is switched off`;
    return new UserError(message, { code: "agent", fix: off.reason, exitCode: 2 });
  }
  const broken = diagnostics.find(
    ({ file, severity, code }) =>
      (severity === "error" || code === "no_frontmatter") && file.toLowerCase().endsWith(`/${name.toLowerCase()}.md`),
  );
  // Any file that does not load might be the one that defines this name.
  const unloaded = unloadedSummary(loaded);
  const untrusted = hasUnreadAgents(snapshot)
    ? " The project's own agents were not read, because this directory is not trusted. To trust it for one run, use the `trusted` option."
    : "";
  const meant = misspelledName(name, [MAIN_TYPE, ...catalog.agents.map(({ definition }) => definition.name)]);
  const guess = meant === undefined ? "" : `Did you mean "${meant}"? `;
  const names = catalog.nearest(name, 10);
  const label = names.length < catalog.agents.length ? "Similar names" : "Available agents";
  const choices = `${guess}${label}: ${names.join(", ")}.${unloaded === undefined ? "" : ` ${unloaded}. ${seeWhy}`}${untrusted}${pluginNotices(
    loaded,
  )
    .map((notice) => ` ${notice}`)
    .join("")}`;
  const fix = broken ? `${broken.file}:${broken.line}: ${broken.message} ${broken.fix ?? ""}`.trim() : choices;
  return new UserError(`There is no agent "${name}"`, { code: "agent", fix, exitCode: 2 });
}

/** Returns whether the project's agents were skipped because the directory is not trusted. */
export function hasUnreadAgents({ trustedRoot, off }: AgentCatalog["snapshot"]): boolean {
  return trustedRoot === undefined && off.some((path) => /(^|[/\\])agents$/.test(path));
}

/** Like `unknownAgent`, but for a resumed session's agent. */
export function missingSessionAgent(name: string, loaded: AgentCatalog): UserError {
  const fix = `${unknownAgent(name, loaded).fix} To continue with another agent, pass the \`agent: NAME\` option. \`${MAIN_TYPE}\` is the main agent.`;
  const message = `This session ran as the agent "${name}", which no longer exists`;
  return new UserError(message, { code: "agent", fix, exitCode: 2 });
}

/** Returns the error for a main agent that does not exist. `place` is the file and line of the `agent` setting. */
export function unknownInSettings(name: string, loaded: AgentCatalog, place = "the `agent` setting"): UserError {
  const { message, fix } = unknownAgent(name, loaded);
  return new UserError(`${message}, which ${place} chooses`, {
    code: "agent",
    fix: `${fix} To use another agent once, pass the \`agent: NAME\` option. \`${MAIN_TYPE}\` is the main agent.`,
    exitCode: 2,
  });
}

/** Reports skills that a definition names but that do not exist. */
export function missingSkills(
  { name, file = name, skills = [] }: AgentDefinition,
  { snapshot }: AgentCatalog,
): readonly Diagnostic[] {
  return findSkills(snapshot.skills, skills, { file }).diagnostics;
}

/** Reports values in a definition that were read, but do not do what its author expects. */
export function definitionFindings(definition: AgentDefinition): readonly Diagnostic[] {
  return [
    ...modelFindings(definition),
    ...effortFindings(definition),
    ...matcherFindings(definition),
    ...serverFindings(definition),
  ];
}

function modelFindings({ name, file = name, model = "inherit" }: AgentDefinition): readonly Diagnostic[] {
  if (model === "inherit") return [];
  const warning = { severity: "warning", file, line: 1, code: "unknown_model" } as const;
  const meant = misspelledTier(model);
  if (meant !== undefined) {
    const message = `"model" is "${model}", which is probably not the name of a model.`;
    return [{ ...warning, message, fix: `Did you mean "${meant}"?` }];
  }
  const { note, retirement } = describeNamedModel(model);
  if (retirement === undefined) return note === undefined ? [] : [{ ...warning, code: "model_alias", message: note }];
  const message = `"model" is "${model}", which has not been available since ${retirement.since}.`;
  return [{ ...warning, code: "retired_model", message, fix: `Use "${retirement.use}".` }];
}

/** Reports an effort that the model named in the definition does not support or might not support. */
function effortFindings({ name, file = name, model = "inherit", effort }: AgentDefinition): readonly Diagnostic[] {
  const { model: id, efforts } = model === "inherit" ? {} : describeNamedModel(model);
  const notice = id === undefined ? undefined : chooseEffort(effort, { model: id, efforts, hasTools: false }).notice;
  return notice === undefined ? [] : [{ severity: "warning", file, line: 1, code: "effort", message: notice }];
}

/** Reports matchers of hooks that are invalid or never match. */
function matcherFindings({ name, file = name, hooks = [] }: AgentDefinition): readonly Diagnostic[] {
  return hooks.flatMap((hook) =>
    checkMatcher({ kind: "command", source: "user", ...hook }, { owner: name }).map(({ message, fix }) => {
      return { severity: "warning", file, line: lineIn(hook), agent: name, code: "hook_matcher", message, fix };
    }),
  );
}

/** Reports MCP servers whose configuration is invalid. */
function serverFindings({ name, file = name, mcpServers = [] }: AgentDefinition): readonly Diagnostic[] {
  return mcpServers.flatMap((server) => {
    const checked = server.config === undefined ? undefined : checkServerConfig(server.config);
    if (checked === undefined || checked.ok) return [];
    const message = `The MCP server "${server.name}" can't be used: its configuration ${checked.message}.`;
    const fix = "Correct the configuration.";
    return [{ severity: "warning", file, line: lineIn(server), agent: name, code: "mcp_server", message, fix }];
  });
}

function lineIn({ where = "" }: { readonly where?: string | undefined }): number {
  return Number(/:(\d+)$/.exec(where)?.[1] ?? 1);
}

/** Returns messages about instruction files and their imports, including files that could not be read. */
export function contextNotices({ diagnostics }: AgentCatalog): readonly string[] {
  return diagnostics.filter(({ code }) => /^(context|import)_/.test(code)).map(formatDiagnostic);
}

/** Returns messages about agents that do not load or have no prompt. */
export function agentNotices(loaded: AgentCatalog): readonly string[] {
  // Agents passed with --agents are reported separately.
  const about = loaded.diagnostics.filter(({ file }) => file !== "--agents");
  const unloaded = unloadedAgents(loaded);
  const withoutPrompt = about.filter(({ code }) => code === "no_prompt").map(formatDiagnostic);
  if (unloaded.length > maxFiles) return [`${unloadedSummary(loaded)}. ${seeWhy}`, ...withoutPrompt];
  const errors = about.filter(
    ({ severity, file, agent }) =>
      severity === "error" && unloaded.some((each) => each.file === file && each.agent === agent),
  );
  return [...errors.map(formatDiagnostic), ...withoutPrompt];
}

const maxFiles = 3;

function unloadedAgents({ snapshot }: Pick<AgentCatalog, "snapshot">): Snapshot["unloaded"] {
  return snapshot.unloaded.filter(({ file }) => file !== "--agents");
}

/** Counts and names the agents that do not load; undefined if all of them load. */
export function unloadedSummary(
  loaded: Pick<AgentCatalog, "snapshot">,
  isMeant = (_file: string) => true,
): string | undefined {
  const unloaded = unloadedAgents(loaded).filter(({ file }) => isMeant(file));
  if (unloaded.length === 0) return undefined;
  const names = unloaded.map(({ file, agent }) => (agent === undefined ? file : `${agent} in ${file}`));
  const more = names.length > maxFiles ? ` and ${names.length - maxFiles} more` : "";
  const count = `${plural(names.length, "agent")} ${names.length === 1 ? "does" : "do"} not load`;
  return `${count}: ${names.slice(0, maxFiles).join(", ")}${more}`;
}

export const seeWhy = 'Run "retinue agents check" to see why.';

/**
 * Returns messages about agents that are missing or may behave unexpectedly: a plugin is not used, a setting about
 * agents has no effect, the project's hooks or MCP servers are off, or its agents replace built-in ones.
 */
export function catalogNotices(loaded: AgentCatalog): readonly string[] {
  return [
    ...pluginNotices(loaded),
    ...settingsProblems(loaded).map(formatDiagnostic),
    ...unapprovedNotices(loaded),
    ...replacedNotices(loaded),
  ];
}

/** Returns messages about plugins that are not used although they are enabled. */
function pluginNotices({ diagnostics }: AgentCatalog): readonly string[] {
  return diagnostics.filter(isPluginProblem).map(formatDiagnostic);
}

/** Returns diagnostics for settings that name a nonexistent agent. */
export function settingsProblems({ diagnostics }: AgentCatalog): readonly Diagnostic[] {
  return diagnostics.filter(({ code }) => code === "switched_nothing_off" || code === "replaces_nothing");
}

function replacedNotices({ catalog }: AgentCatalog): readonly string[] {
  return catalog.agents.flatMap(({ definition: { name, source, file = "The project" } }) => {
    const isOverride = catalog.overrides.some(
      ({ winner, loser }) => winner.definition.name === name && loser.definition.source === "built-in",
    );
    const other = Object.hasOwn(agentAliases, name.toLowerCase()) ? agentAliases[name.toLowerCase()] : undefined;
    if (source !== "project" || (!isOverride && other === undefined)) return [];
    return [`${file}:1: This project's agent "${name}" replaces the built-in agent ${other ?? name}.`];
  });
}

function unapprovedNotices({ diagnostics }: AgentCatalog): readonly string[] {
  const off = diagnostics.filter(({ code }) => code === UNAPPROVED);
  if (off.length <= maxFiles) return off.map(formatDiagnostic);
  const files = off.map(({ file }) => file).join(", ");
  const fix = 'Review them, then run "retinue trust add". "retinue agents list" shows the details.';
  return [
    `The hooks or MCP servers of ${off.length} agents are off because you have not approved them: ${files}. ${fix}`,
  ];
}

/** Returns messages about plugin skills and plugin commands that do not load. */
export function skillNotices({ diagnostics }: AgentCatalog): readonly string[] {
  const isSkillFile = (file: string) =>
    /(^|\/)skill\.md$|\/\.(agents|claude)\/skills(\/|$)|\/plugins\/[^/]+\/commands\//i.test(file);
  return diagnostics.filter(({ file, severity }) => severity !== "notice" && isSkillFile(file)).map(formatDiagnostic);
}

/** Returns errors and warnings about one agent. */
export function definitionNotices({ diagnostics }: AgentCatalog, definition: AgentDefinition): readonly string[] {
  const isProblem = (each: Diagnostic): boolean => each.severity !== "notice" && isAbout(each, definition);
  return diagnostics.filter(isProblem).map(formatDiagnostic);
}

/**
 * Returns whether a diagnostic is about an agent. The file alone is not enough, because a settings file can define
 * several agents.
 */
export function isAbout({ file, agent }: Diagnostic, definition: AgentDefinition): boolean {
  return agent === undefined ? file === definition.file : agent === definition.name;
}

export function formatDiagnostic({ file, line, message, fix }: Diagnostic): string {
  const where = file === "--agents" ? "the `agents` option" : `${file}:${line}`;
  return `${where}: ${message}${fix === undefined ? "" : ` ${fix}`}`;
}
