import {
  type AgentCheck,
  type CatalogOptions,
  checkAgents,
  checkSettingsAgents,
  definitionDirectories,
  type ExplainedCall,
  explainCall,
  type LintReport,
  lintAgents,
  listAgents,
  showAgent,
  shownPath,
  stateDirectory,
  withWorkspace,
} from "../../../app/index.ts";
import { plural, stripControls } from "../../../lib/index.ts";
import { type Diagnostic, type PermissionMode, permissionModes } from "../../../protocol/index.ts";
import { exitCodes } from "../../exit-codes.ts";
import { printHelp } from "../../help/print-help.ts";
import { createOutput, type Output } from "../../output.ts";
import {
  directoryOption,
  type HelpRequest,
  helpOption,
  type ReadOptions,
  readVerb,
  splitRules,
  usageError,
} from "../../read-options.ts";
import { chosenDirectory, realDirectory } from "../../real-directory.ts";
import { renderDiagnostics } from "../diagnostics.ts";
import { type NewAgentOptions, newAgent } from "./new.ts";
import { renderAgent, renderList } from "./render.ts";

/** Runs `retinue agents list|show|explain|check|lint|new`. */
export async function agents(argv: readonly string[]): Promise<number> {
  const command = parseAgents(argv);
  const output = createOutput(process.stdout);
  switch (command.kind) {
    case "help":
      return printHelp(command.topic);
    case "check":
      return check(command, output);
    case "lint":
      return lint(command, output);
    case "explain":
      return explain(command, output);
    case "new":
      await output.write(await newAgent(command));
      return exitCodes.succeeded;
    case "show": {
      const details = await showAgent(command.name, placeOf(command));
      await output.write(command.json ? `${JSON.stringify(details, null, 2)}\n` : renderAgent(details));
      return exitCodes.succeeded;
    }
    case "list": {
      const place = placeOf(command);
      const list = await listAgents(place);
      if (command.json) await output.write(`${JSON.stringify(list, null, 2)}\n`);
      else await output.write(renderList(list, definitionDirectories(place)));
      return exitCodes.succeeded;
    }
  }
}

interface AgentsPlace {
  readonly json: boolean;
  /** Whether to read the project's definitions even if the project is not trusted. */
  readonly trust: boolean;
  readonly cwd: string | undefined;
}

type AgentsCommand =
  | ({ readonly kind: "list" } & AgentsPlace)
  | ({ readonly kind: "show"; readonly name: string } & AgentsPlace)
  | { readonly kind: "check"; readonly paths: readonly string[]; readonly jsonl: boolean }
  | ({ readonly kind: "lint"; readonly targets: readonly string[] } & AgentsPlace)
  | ({ readonly kind: "new" } & NewAgentOptions)
  | ExplainCommand;

interface ExplainCommand extends AgentsPlace {
  readonly kind: "explain";
  readonly agent: string;
  readonly call: string;
  readonly mode: PermissionMode | undefined;
  readonly background: boolean;
}

const placeOptions = { json: {}, trust: {}, cwd: directoryOption, help: helpOption };
const verbs = {
  list: placeOptions,
  show: placeOptions,
  explain: { ...placeOptions, "permission-mode": { value: "MODE", choices: permissionModes }, background: {} },
  check: { jsonl: {}, help: helpOption },
  lint: placeOptions,
  new: {
    description: { value: "TEXT" },
    tools: { value: "NAMES" },
    model: { value: "NAME", short: "m" },
    project: {},
    user: {},
    cwd: directoryOption,
    help: helpOption,
  },
};

function parseAgents(argv: readonly string[]): AgentsCommand | HelpRequest {
  const read = readVerb("agents", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  if (verb === "check") return { kind: "check", paths: options.positionals, jsonl: options.has("jsonl") };
  if (verb === "new") return parseNew(options);
  const place = { json: options.has("json"), trust: options.has("trust"), cwd: options.value("cwd") };
  if (verb === "lint") return { kind: "lint", targets: options.positionals, ...place };
  if (verb === "explain") return parseExplain(options, place);
  const [name, ...more] = options.positionals;
  if (verb === "list") {
    if (name !== undefined) throw usageError('"agents list" takes no name', `Use "retinue agents show ${name}".`);
    return { kind: "list", ...place };
  }
  if (name === undefined) throw usageError('"agents show" needs a name', '"retinue agents list" shows the names.');
  if (more.length > 0) throw usageError('"agents show" takes one name', "Quote a name that contains spaces.");
  return { kind: "show", name, ...place };
}

function parseExplain(options: ReadOptions, place: AgentsPlace): ExplainCommand {
  const [agent, call, ...more] = options.positionals;
  if (agent === undefined || call === undefined || more.length > 0) {
    const fix = "For example: retinue agents explain Explore 'Bash(git push)'";
    throw usageError('"agents explain" takes an agent and a call', fix);
  }
  const mode = options.value("permission-mode") as PermissionMode | undefined;
  return { kind: "explain", agent, call, mode, background: options.has("background"), ...place };
}

function parseNew(options: ReadOptions): AgentsCommand {
  const [name, ...more] = options.positionals;
  if (more.length > 0) throw usageError('"agents new" takes one name', "Write it with hyphens: code-reviewer.");
  if (options.has("project") && options.has("user")) {
    throw usageError("--project and --user can't be combined", "Use one of them.");
  }
  return {
    kind: "new",
    scope: options.has("user") ? "user" : "project",
    name,
    description: options.value("description"),
    model: options.value("model"),
    tools: options.has("tools") ? options.values("tools").flatMap(splitRules) : undefined,
    cwd: options.value("cwd"),
  };
}

function placeOf({ cwd, trust }: Pick<AgentsPlace, "cwd" | "trust">): CatalogOptions {
  return { cwd: chosenDirectory(cwd), home: stateDirectory(process.env), environment: process.env, trust };
}

const CHUNK_CHARACTERS = 64 * 1024;

/** Checks definitions. Writes results while the next files are read. */
async function check({ paths, jsonl }: Extract<AgentsCommand, { kind: "check" }>, output: Output): Promise<number> {
  const place = { cwd: realDirectory("."), environment: process.env };
  const shown = (path: string): string => shownPath(path, place);
  const counts: CheckCounts = { loaded: { agent: 0, skill: 0 }, failed: { agent: 0, skill: 0 }, other: 0 };
  let pending = "";
  const checks = paths.length > 0 ? checkAgents(paths, shown) : checkPlace(place, shown);
  for await (const checked of withWorkspace(checks, { ...place, home: stateDirectory(process.env) })) {
    if (checked.hidden && paths.length === 0) counts.other += 1;
    else if (checked.loaded) counts.loaded[checked.kind] += 1;
    else if (checked.failed) counts.failed[checked.kind] += 1;
    else counts.other += 1;
    pending += jsonl ? `${JSON.stringify(checkedLine(checked))}\n` : renderChecked(checked, shown);
    if (pending.length < CHUNK_CHARACTERS) continue;
    await output.write(pending);
    pending = "";
  }
  await output.write(pending + (jsonl ? "" : checkSummary(counts)));
  return counts.failed.agent + counts.failed.skill > 0 ? exitCodes.failed : exitCodes.succeeded;
}

/** Checks all definitions that apply to a directory: those from the project, the user and the settings. */
async function* checkPlace(
  place: { readonly cwd: string; readonly environment: NodeJS.ProcessEnv },
  shown: (path: string) => string,
): AsyncGenerator<AgentCheck> {
  yield* checkAgents(definitionDirectories(place), shown);
  yield* checkSettingsAgents({ ...place, home: stateDirectory(process.env) });
}

function checkedLine({ failed: _, hidden: _hidden, path: _path, diagnostics, ...checked }: AgentCheck): object {
  return { ...checked, diagnostics: diagnostics.map(({ file: _file, agent: _agent, ...diagnostic }) => diagnostic) };
}

/** Renders the findings about a file. Leaves out notices about a file that might not be a definition. */
function renderChecked({ path, loaded, failed, diagnostics }: AgentCheck, shown: (path: string) => string): string {
  const isShown = ({ severity }: Diagnostic) => loaded || failed || severity !== "notice";
  return renderDiagnostics(diagnostics.filter(isShown).map((each) => ({ ...each, file: shown(path) })));
}

interface CheckCounts {
  readonly loaded: { agent: number; skill: number };
  readonly failed: { agent: number; skill: number };
  other: number;
}

function checkSummary({ loaded, failed, other }: CheckCounts): string {
  const unloaded = (["agent", "skill"] as const).flatMap((kind) =>
    failed[kind] === 0 ? [] : [plural(failed[kind], kind)],
  );
  const does = failed.agent + failed.skill === 1 ? "does" : "do";
  const sentences = [
    `${plural(loaded.agent, "agent")} and ${plural(loaded.skill, "skill")} load.`,
    ...(unloaded.length === 0 ? [] : [`${unloaded.join(" and ")} ${does} not.`]),
    ...(other === 0 ? [] : [`${plural(other, "other file")} ${other === 1 ? "defines" : "define"} nothing.`]),
  ];
  return `${sentences.join(" ")}\n`;
}

/** Lints agents. Fails if any finding is worse than a notice. */
async function lint(command: Extract<AgentsCommand, { kind: "lint" }>, output: Output): Promise<number> {
  const place = placeOf(command);
  const report = await lintAgents(command.targets, place);
  const shown = report.findings.map((each) => ({ ...each, file: shownPath(each.file, place) }));
  await output.write(
    command.json ? `${JSON.stringify(report, null, 2)}\n` : renderLint({ ...report, findings: shown }),
  );
  return report.findings.some(({ severity }) => severity !== "notice") ? exitCodes.failed : exitCodes.succeeded;
}

function renderLint({ agents: count, findings, off }: LintReport): string {
  const skipped = off.some((path) => path.endsWith("/agents"))
    ? " The agents in this directory were not read, because it is not trusted. Add --trust, or name their directory."
    : "";
  const sum = findings.length === 0 ? "nothing found" : plural(findings.length, "finding");
  return `${renderDiagnostics(findings)}${plural(count, "agent")}: ${sum}.${skipped}\n`;
}

/** Shows the decision on an agent's call, and the rule behind it. */
async function explain(command: ExplainCommand, output: Output): Promise<number> {
  const { agent, call, json, mode, background } = command;
  const explained = await explainCall({ agent, call, catalog: placeOf(command), background, mode });
  await output.write(json ? `${JSON.stringify(explained, null, 2)}\n` : renderExplanation(explained, call));
  return exitCodes.succeeded;
}

function renderExplanation(
  { agent, source, mode, decision, unattended, notices }: ExplainedCall,
  call: string,
): string {
  const { effect, rule, scope, file, reason } = decision;
  const lines = [
    `${effect}: ${call} by ${agent}${source === null ? "" : ` (${source})`}, in mode ${mode}`,
    `rule: ${rule}`,
    `from: ${scope}${file === undefined ? "" : `, ${file}`}`,
    `why: ${reason}`,
    ...(effect === "ask" ? [`if no one can approve: ${unattended.effect}`] : []),
    ...notices.map((notice) => `note: ${notice}`),
  ];
  return lines.map((line) => `${stripControls(line)}\n`).join("");
}
