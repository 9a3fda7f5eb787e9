import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { lintAgent, readAgentFile } from "../../definitions/index.ts";
import { homeDirectory, isWithin } from "../../lib/index.ts";
import type { FileFailure, Workspace } from "../../ports/index.ts";
import type { AgentDraft, AgentFileCheck, Diagnostic, LoadedAgent, WrittenAgent } from "../../protocol/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { type AgentCatalog, type CatalogOptions, loadAgentCatalog } from "../agents/agent-catalog.ts";
import { definitionFindings } from "../agents/agent-diagnostics.ts";
import { agentFileText, directoryFor, nameProblem } from "./agents.ts";
import { reportOf } from "./report-agent.ts";
import { isTrusted } from "./trust.ts";

/** Reason why a file was not written. `conflict`: the file already exists, or has changed since the client read it. */
export interface AgentFileRefusal {
  readonly ok: false;
  readonly code: "conflict" | "refused";
  /** Says what happened and what to do. */
  readonly message: string;
}

type WriteResult = ({ readonly ok: true } & WrittenAgent) | AgentFileRefusal;

/**
 * Checks a new agent as if its file were already written: the file itself, conflicts with other agents' names, its
 * tools and its text.
 */
export async function checkNewAgent(draft: AgentDraft, options: CatalogOptions): Promise<AgentFileCheck> {
  const file = join(directoryFor(options.cwd), `${draft.name}.md`);
  const checked = await checkText({ file, text: agentFileText(draft) }, options);
  const other = checked.loaded.snapshot.agents.find(
    ({ definition: { source, name, file: place } }) =>
      source === "project" && place !== file && name.toLowerCase() === draft.name.toLowerCase(),
  );
  const { name, file: place = name } = other?.definition ?? {};
  const message = existsSync(file)
    ? `${shown(file, options)} already exists.`
    : place === undefined
      ? undefined
      : `There is already an agent "${name}" (${shown(place, options)}).`;
  if (message === undefined) return checked.check;
  const fix = "Choose another name, or edit that agent.";
  const taken: Diagnostic = { severity: "error", file, line: 1, code: "name_taken", message, fix };
  return { ...checked.check, diagnostics: [taken, ...checked.check.diagnostics] };
}

/** Checks a new version of one of the project's agent files. */
export async function checkAgentText(name: string, text: string, options: CatalogOptions): Promise<AgentFileCheck> {
  const { definition } = await findOwnAgent(name, options);
  const file = definition?.file ?? join(directoryFor(options.cwd), `${basename(name)}.md`);
  return (await checkText({ file, text }, options)).check;
}

/** Writes a new agent's file to the project's agents directory. Never replaces a file. */
export async function createAgentFile(draft: AgentDraft, options: CatalogOptions): Promise<WriteResult> {
  const invalid = nameProblem(draft.name);
  if (invalid !== undefined) return refused(`${invalid.message}. ${invalid.fix ?? ""}`);
  const { file, text, diagnostics } = await checkNewAgent(draft, options);
  const error = diagnostics.find(({ severity }) => severity === "error");
  if (error !== undefined)
    return { ...refused(sentenceOf(error)), code: error.code === "name_taken" ? "conflict" : "refused" };
  const workspace = workspaceOf(options);
  const written = await workspace.write(file, Buffer.from(text), { expect: "missing" });
  if (!written.ok) return refusalOf(written, file, options);
  return { ok: true, name: draft.name, file, hash: hashOf(text), loaded: isTrusted(options) };
}

export interface ChangedAgent {
  readonly name: string;
  readonly text: string;
  /** Hash of the text that the client read. */
  readonly hash: string;
}

/** Replaces one of the project's agent files, unless it has changed since the client read it. */
export async function changeAgentFile(changed: ChangedAgent, options: CatalogOptions): Promise<WriteResult> {
  const { name, text } = changed;
  const { definition, problem } = await findOwnAgent(name, options);
  if (definition?.file === undefined) return refused(problem);
  const { file } = definition;
  const workspace = workspaceOf(options);
  const current = await workspace.read(file, { maxBytes: MAX_BYTES });
  if (!current.ok) return refusalOf(current, file, options);
  if (hashOf(current.bytes) !== changed.hash) return changedMeanwhile(file, options);
  const { check, loaded } = await checkText({ file, text }, options);
  const error = check.diagnostics.find(({ severity }) => severity === "error");
  if (!check.loads) return refused(error === undefined ? "The agent would not load." : sentenceOf(error));
  const next = loaded.catalog.agents.find(({ definition: each }) => each.file === file);
  if (next?.definition.name !== definition.name)
    return refused(`The name must stay "${definition.name}". To use another one, create a new agent.`);
  const written = await workspace.write(file, Buffer.from(text), { expect: current.stat.version });
  if (!written.ok) return refusalOf(written, file, options);
  return { ok: true, name: definition.name, file, hash: hashOf(text), loaded: true };
}

/** Reads an agent's file if `changeAgentFile` can replace it. Otherwise returns undefined. */
export async function readAgentText(
  file: string | undefined,
  options: CatalogOptions,
): Promise<{ readonly text: string; readonly hash: string } | undefined> {
  if (file === undefined || !isOwnFile(file, options)) return undefined;
  const read = await workspaceOf(options).read(file, { maxBytes: MAX_BYTES });
  if (!read.ok) return undefined;
  return { text: Buffer.from(read.bytes).toString(), hash: hashOf(read.bytes) };
}

/** Maximum size of an agent file. */
const MAX_BYTES = 256 * 1024;

interface CheckedText {
  readonly check: AgentFileCheck;
  /** The agents that would exist after the change. */
  readonly loaded: AgentCatalog;
}

async function checkText(
  { file, text }: { readonly file: string; readonly text: string },
  options: CatalogOptions,
): Promise<CheckedText> {
  const bytes = Buffer.from(text);
  const { definition, body, diagnostics } = await readAgentFile({ bytes, file, source: "project" });
  const draft: LoadedAgent | undefined = definition && {
    definition,
    place: { distance: 0, form: "file", directory: 0 },
    version: hashOf(text),
    body: body(),
  };
  const loaded = await loadAgentCatalog(options, (snapshot) => ({
    ...snapshot,
    agents: [
      ...snapshot.agents.filter((each) => each.definition.file !== file),
      ...(draft === undefined ? [] : [draft]),
    ],
    diagnostics: [...snapshot.diagnostics.filter((each) => each.file !== file), ...diagnostics],
  }));
  const agent = loaded.catalog.agents.find((each) => each.definition.file === file);
  if (agent === undefined) {
    const lint = definition && [...lintAgent({ definition, body: body() }), ...definitionFindings(definition)];
    const found = [...diagnostics, ...(lint ?? [])];
    return { check: { file, text, loads: definition !== undefined, diagnostics: found }, loaded };
  }
  const report = reportOf(agent, loaded, options);
  return { check: { file, text, loads: true, report, diagnostics: report.diagnostics }, loaded };
}

async function findOwnAgent(name: string, options: CatalogOptions) {
  const { catalog } = await loadAgentCatalog(options);
  const definition = catalog.find(name)?.agent.definition;
  const isOwn =
    definition?.source === "project" && definition.file !== undefined && isOwnFile(definition.file, options);
  if (isOwn) return { definition, problem: "" };
  const problem =
    definition === undefined
      ? `There is no agent "${name}" in this directory.`
      : `The agent "${definition.name}" can't be changed here, because this directory does not define it. Its source is: ${definition.source}.`;
  return { definition: undefined, problem };
}

/** Returns whether a file is in the workspace's own agents directory. */
function isOwnFile(file: string, { cwd }: Pick<CatalogOptions, "cwd">): boolean {
  return [".agents", ".claude"].some((folder) => {
    const directory = join(cwd, folder, "agents");
    return isWithin(file, directory) && file !== directory;
  });
}

function workspaceOf({ cwd: root, environment }: CatalogOptions): Pick<Workspace, "read" | "write"> {
  return createLocalWorkspace({ root, environment, home: homeDirectory(environment) });
}

function refusalOf({ code }: FileFailure, file: string, options: CatalogOptions): AgentFileRefusal {
  const path = shown(file, options);
  switch (code) {
    case "changed":
      return changedMeanwhile(file, options);
    case "moved":
    case "not_a_file":
    case "ELOOP":
    case "ENOTDIR":
      return refused(`${path} is a link, or is reached through one. Retinue does not write agent files through links.`);
    default:
      return refused(`${path} can't be written (${code}). Check the directory and its permissions.`);
  }
}

function changedMeanwhile(file: string, options: CatalogOptions): AgentFileRefusal {
  const message = `${shown(file, options)} already exists, or has changed since you read it. Read it again, then repeat your change.`;
  return { ok: false, code: "conflict", message };
}

function refused(message: string): AgentFileRefusal {
  return { ok: false, code: "refused", message };
}

function sentenceOf({ message, fix }: Diagnostic): string {
  return fix === undefined ? message : `${message} ${fix}`;
}

function shown(file: string, { cwd }: Pick<CatalogOptions, "cwd">): string {
  return isWithin(file, cwd) ? relative(cwd, file).split(sep).join("/") : file;
}

function hashOf(content: string | Uint8Array): string {
  return hash("sha256", content, "hex");
}
