import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { createExecutor } from "../../executor/index.ts";
import { describeError, misspelledName } from "../../lib/index.ts";
import { hiddenPredicate, invalidRule } from "../../permissions/index.ts";
import type { Judgment, ToolExecutor } from "../../ports/index.ts";
import {
  type CallId,
  canonicalToolName,
  type Effect,
  type JsonObject,
  type PermissionMode,
  type Policy,
  permissionModes,
  type Rule,
  resultAddress,
  textOf,
  toolNames,
} from "../../protocol/index.ts";
import { createServerTools, createWorkerTools } from "../../tools/index.ts";
import { createLocalWorkspace, createSandbox } from "../../workspace/index.ts";

export interface CheckedRow {
  readonly id: string | number | null;
  /**
   * `error`: the call or the row is invalid. `allow-but-no-match`: the search is allowed, but finds nothing that is
   * denied.
   */
  readonly decision: Effect | "error" | "allow-but-no-match";
  readonly rule: string;
  readonly reason: string;
  /** Whether the decision assumes that commands run in a sandbox. */
  readonly sandbox: "on" | "off";
}

export interface CheckOptions {
  /** Directory for the files that rows describe; defaults to a temporary one. */
  readonly root?: string | undefined;
  /** Whether to assume that commands run in a sandbox. `auto` assumes a sandbox only if this machine has one. */
  readonly sandbox: "on" | "off" | "auto";
}

interface Row {
  readonly id: string | number | null;
  readonly setup?: {
    readonly mode?: string;
    readonly fs?: Readonly<Record<string, string>>;
    readonly allow?: readonly string[];
    readonly ask?: readonly string[];
    readonly deny?: readonly string[];
    readonly server?: string;
  };
  readonly input: JsonObject & { readonly tool: string };
  /** Earlier command in the same session. It is not run, but the executable files that it would write are created. */
  readonly preset?: string;
}

/**
 * Decides on the calls in a list of attempted attacks. Each row is one line of JSON: a call (`input`) and its `setup`.
 * A row's files are created in `root`, which replaces `/w`, and removed afterwards. Only searches are actually run.
 */
export async function* checkRows(
  lines: AsyncIterable<string>,
  { root, sandbox }: CheckOptions,
): AsyncGenerator<CheckedRow> {
  const top = root === undefined ? mkdtempSync(join(tmpdir(), "retinue-check-")) : root;
  mkdirSync(join(top, "proj"), { recursive: true });
  const stage = realpathSync(top);
  const assumed = sandbox === "auto" ? ((await hasSandbox(stage)) ? "on" : "off") : sandbox;
  const executor = executorAt(join(stage, "proj"), assumed);
  let number = 0;
  try {
    for await (const line of lines) {
      number += 1;
      if (line.trim() !== "") yield { ...(await checkLine(line, number, { stage, executor })), sandbox: assumed };
    }
  } finally {
    await executor.close();
    if (root === undefined) rmSync(top, { recursive: true, force: true });
  }
}

type Answer = Omit<CheckedRow, "sandbox">;

async function hasSandbox(stage: string): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-check-sandbox-"));
  const paths = { scratch, userHome: stage, writable: [], hidden: [], shown: [] };
  const sandbox = createSandbox({ ...paths, mode: "auto", domains: [], tell: () => undefined });
  try {
    return (await sandbox.ready()).kind === "on";
  } finally {
    await sandbox.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Stage {
  readonly stage: string;
  readonly executor: ToolExecutor;
}

const HOME = "/home/u";

async function checkLine(line: string, number: number, at: Stage): Promise<Answer> {
  const written = readRow(line);
  const { id } = written;
  const invalid = (problem: string): Answer => {
    return { id, decision: "error", rule: INVALID_ROW, reason: `Line ${number} is not a valid row: ${problem}` };
  };
  if ("problem" in written) return invalid(written.problem);
  try {
    const row = onStage(written, at.stage) as Row;
    const programs = programsOf(row.preset ?? "", join(at.stage, "proj"));
    const files = { ...row.setup?.fs, ...Object.fromEntries(programs.map((path) => [path, "#!/bin/sh\n"])) };
    const clear = await stageFiles(files, { stage: at.stage, home: HOME });
    try {
      for (const path of programs) chmodSync(path, 0o755);
      return { id, ...(await answer(row, at)) };
    } finally {
      clear();
    }
  } catch (error) {
    return invalid(`it can't be used: ${describeError(error)}`);
  }
}

/** Value of `rule` for a line that is not a valid row. */
export const INVALID_ROW = "invalid row";

type ReadRow = Row | (Pick<Row, "id"> & { readonly problem: string });

/** Reads a row, or says what is wrong with it. A row whose rules are misread would be decided with too few rules. */
function readRow(line: string): ReadRow {
  let value: unknown;
  try {
    // Trimming also removes a byte order mark.
    value = JSON.parse(line.trim());
  } catch (error) {
    return { id: null, problem: `${describeError(error)}.` };
  }
  if (!isMapping(value)) return { id: null, problem: "it is not a JSON object." };
  const { id, setup, input, preset } = value;
  const problem =
    keyProblem(value) ??
    (id === undefined || id === null || typeof id === "string" || typeof id === "number"
      ? undefined
      : "`id` must be a string or a number.") ??
    (isMapping(input) && typeof input["tool"] === "string"
      ? undefined
      : '`input` must be an object with the name of the `tool`, such as {"tool": "Bash", "command": "ls"}.') ??
    (preset === undefined || typeof preset === "string" ? undefined : "`preset` must be a string.") ??
    (setup === undefined || isMapping(setup) ? problemIn(setup ?? {}) : "`setup` must be an object.");
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  return problem === undefined ? { ...(value as unknown as Row), id: known } : { id: known, problem };
}

/** Returns what is wrong with a row's keys. Keys that rows have for other harnesses are accepted. */
function keyProblem(row: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of Object.keys(row).filter((each) => !rowKeys.includes(each))) {
    if (setupKeys.includes(key)) return `\`${key}\` must be in \`setup\`.`;
    const meant = misspelledName(
      key,
      rowKeys.filter((each) => !Object.hasOwn(row, each)),
    );
    if (meant !== undefined) return `\`${key}\` is unknown. Did you mean \`${meant}\`?`;
  }
  return undefined;
}

const rowKeys = ["id", "setup", "input", "preset"];

/** Returns what is wrong with a row's setup. Keys that rows have for other harnesses are accepted. */
function problemIn(setup: Readonly<Record<string, unknown>>): string | undefined {
  const { mode = "default", fs = {}, server = "" } = setup;
  for (const key of Object.keys(setup).filter((each) => !setupKeys.includes(each))) {
    const meant = misspelledName(key, setupKeys);
    if (meant !== undefined) return `\`setup.${key}\` is unknown. Did you mean \`${meant}\`?`;
  }
  if (setup["permissions"] !== undefined)
    return "`setup.permissions` is unknown. Write its `allow`, `ask` and `deny` directly in `setup`.";
  if (!permissionModes.some((each) => each === mode))
    return `\`setup.mode\` is ${JSON.stringify(mode)}. Use ${permissionModes.join(", ")}.`;
  for (const name of ["allow", "ask", "deny"]) {
    const { [name]: rules = [] } = setup;
    if (!isTexts(rules)) return `\`setup.${name}\` must be a list of rules, such as ["Bash(ls)"].`;
    for (const rule of rules) {
      const problem = invalidRule(rule);
      if (problem !== undefined) return `\`${rule}\` in \`setup.${name}\` is invalid: ${problem}`;
    }
  }
  if (!isMapping(fs) || !isTexts(Object.values(fs))) return "`setup.fs` must map paths to texts.";
  return typeof server === "string" ? undefined : "`setup.server` must be a string.";
}

const setupKeys = ["mode", "fs", "allow", "ask", "deny", "server"];

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Returns the files that a command writes and makes executable. */
function programsOf(line: string, cwd: string): readonly string[] {
  const written = [...line.matchAll(/>\s*([\w./-]+)/g)].map(([, path = ""]) => path);
  return written.filter((path) => line.includes(`chmod +x ${path}`)).map((path) => resolve(cwd, path));
}

async function answer(row: Row, { stage, executor }: Stage): Promise<Omit<Answer, "id">> {
  const { tool, ...input } = row.input;
  const policy = policyOf(row, stage);
  const callOf = (given: JsonObject) => ({ callId: "c1" as CallId, name: tool, inputJson: JSON.stringify(given) });
  const first = flat(await executor.judge(callOf(input), policy));
  if (first.decision === "error") return (await stricterAnswer(row, { executor, policy })) ?? first;
  if (first.decision !== "allow") return first;
  const location = /^\S+ answers 30\d Location: (.+)$/.exec(row.setup?.server ?? "")?.[1];
  if (location !== undefined && typeof input["url"] === "string") {
    const url = URL.canParse(location, input["url"]) ? new URL(location, input["url"]).href : location;
    return flat(await executor.judge(callOf({ ...input, url }), policy));
  }
  const denies = policy.rules.some(({ effect }) => effect === "deny");
  if (!denies || (tool !== "Grep" && tool !== "Glob")) return first;
  const request = { agentId: "main", call: callOf(input), policy };
  const result = await executor.execute(request, () => undefined, new AbortController().signal);
  const hidden = hiddenPredicate(policy, [HOME]);
  const paths = textOf(result.content)
    .split("\n")
    .map((text) => join(stage, "proj", text.split(":")[0] ?? ""));
  const isLeaked = paths.some((path) => hidden(path) || (existsSync(path) && hidden(realpathSync(path))));
  return isLeaked ? first : { ...first, decision: "allow-but-no-match" };
}

/**
 * Decides on the call again, without the parameters that its tool does not have. Returns undefined if the call is
 * allowed or still invalid.
 */
async function stricterAnswer(
  { input: { tool, ...input } }: Row,
  { executor, policy }: { readonly executor: ToolExecutor; readonly policy: Policy },
): Promise<Omit<Answer, "id"> | undefined> {
  const schema = executor.declarations().find(({ name }) => name === canonicalToolName(tool))?.inputSchema;
  const known = Object.keys((schema?.["properties"] as object | undefined) ?? {});
  const inputJson = JSON.stringify(Object.fromEntries(Object.entries(input).filter(([key]) => known.includes(key))));
  const answered = flat(await executor.judge({ callId: "c1" as CallId, name: tool, inputJson }, policy));
  return answered.decision === "ask" || answered.decision === "deny" ? answered : undefined;
}

function flat(judged: Judgment): Omit<Answer, "id"> {
  if (judged.kind === "invalid") return { decision: "error", rule: "invalid input", reason: judged.message };
  const { effect, rule, reason } = judged.decision;
  return { decision: effect, rule, reason };
}

function policyOf({ setup = {} }: Row, stage: string): Policy {
  const { allow = [], ask = [], deny = [], mode = "default" } = setup;
  const rulesOf = (texts: readonly string[], effect: Effect) =>
    texts.map((text): Rule => ({ text, effect, scope: "user" }));
  return {
    mode: mode as PermissionMode,
    pool: toolNames,
    rules: [...rulesOf(allow, "allow"), ...rulesOf(ask, "ask"), ...rulesOf(deny, "deny")],
    workspaceRoots: [join(stage, "proj")],
    readableRoots: [],
  };
}

function executorAt(root: string, sandbox: CheckedRow["sandbox"]): ToolExecutor {
  // There is no session, and the row has created all git hooks, so all of them are considered changed.
  const local = createLocalWorkspace({ root, environment: process.env, home: HOME, since: 0 });
  // No command runs, so the sandbox is only assumed.
  const workspace = { ...local, confinement: async () => ({ kind: sandbox }) };
  const results = { save: async (id: string) => resultAddress(id), saveFile: async (id: string) => resultAddress(id) };
  const outputDirectory = join(root, "..", "outputs");
  const tools = createWorkerTools({ sessionId: "check", workspace, results, outputDirectory });
  return createExecutor({ tools: [...tools, ...createServerTools({})], workspace, results, home: HOME });
}

/** Replaces `/w` in paths with `stage`, and placeholders with harmless values. */
function onStage(value: unknown, stage: string): unknown {
  if (typeof value === "string") {
    return value
      .replaceAll("{CANARY}", "/tmp/retinue-canary")
      .replaceAll("{PORT}", "8080")
      .replaceAll(/(?<![\w.])\/w(?=[/\s"')]|$)/g, stage);
  }
  if (Array.isArray(value)) return value.map((each) => onStage(each, stage));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [onStage(key, stage), onStage(each, stage)]));
}

interface Staging {
  /** Directory for the files. Nothing is created outside this directory, and existing files are not overwritten. */
  readonly stage: string;
  /** Directory that `~` refers to in symlinks. */
  readonly home: string;
}

/**
 * Creates files from their descriptions: `-> target` (a symlink), `dir`, `fifo`, `socket`, or the text of the file.
 * Returns a function that removes them.
 */
async function stageFiles(files: Readonly<Record<string, string>>, { stage, home }: Staging): Promise<() => void> {
  const undo: (() => void)[] = [];
  const remove = (path: string) => undo.push(() => rmSync(path, { recursive: true, force: true }));
  const clear = (): void => {
    for (const each of undo.toReversed()) each();
  };
  try {
    for (const [path, what] of Object.entries(files)) {
      if (!path.startsWith(`${stage}/`) || lstatSync(path, { throwIfNoEntry: false })) continue;
      remove(firstMissing(dirname(path)) ?? path);
      mkdirSync(dirname(path), { recursive: true });
      remove(path);
      if (what.startsWith("-> ")) makeLink(path, what.slice(3), { stage, home, files, remove });
      else if (what === "dir" || what.startsWith("dir,")) mkdirSync(path);
      else if (what === "fifo") spawnSync("mkfifo", [path]);
      else if (what === "socket") undo.push(await listen(path));
      else writeFileSync(path, what);
    }
  } catch (error) {
    // Files that are left behind would affect the decisions on the rows that follow.
    clear();
    throw error;
  }
  return clear;
}

/** Creates a symlink and its target, unless the target is another of the row's files or marked as missing. */
function makeLink(
  path: string,
  what: string,
  {
    stage,
    home,
    files,
    remove,
  }: Staging & { readonly files: Readonly<Record<string, string>>; readonly remove: (path: string) => void },
): void {
  const target = what.replace(/ \(missing\)$/, "").replace(/^~(?=\/|$)/, home);
  symlinkSync(target, path);
  const file = isAbsolute(target) ? target : join(dirname(path), target);
  if (target !== what || !file.startsWith(`${stage}/`) || existsSync(file) || Object.hasOwn(files, file)) return;
  remove(firstMissing(dirname(file)) ?? file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "x");
  remove(file);
}

function listen(path: string): Promise<() => void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve(() => void server.close()));
  });
}

function firstMissing(directory: string): string | undefined {
  if (existsSync(directory)) return undefined;
  return firstMissing(dirname(directory)) ?? directory;
}
