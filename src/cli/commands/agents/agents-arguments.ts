import { type PermissionMode, permissionModes } from "../../../protocol/index.ts";
import type { Command } from "../../command.ts";
import { type OptionKind, type ReadOptions, usageError } from "../../read-options.ts";
import { readVerb, type Verbs } from "../../read-verb.ts";
import { splitRules } from "../../split-rules.ts";

/** The words after `retinue agents`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseAgents(argv: readonly string[]): Command {
  const read = readVerb("agents", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  if (verb === "check") return { kind: "agents.check", paths: options.words, jsonl: options.has("jsonl") };
  if (verb === "new") return parseNew(options);
  const place = { json: options.has("json"), trust: options.has("trust"), ...directoryOf(options) };
  if (verb === "lint") return { kind: "agents.lint", targets: options.words, ...place };
  if (verb === "explain") return parseExplain(options, place);
  const [name, ...more] = options.words;
  if (verb === "list") {
    if (name !== undefined) throw usageError('"agents list" takes no name', `Use "retinue agents show ${name}".`);
    return { kind: "agents.list", ...place };
  }
  if (name === undefined) throw usageError('"agents show" needs a name', '"retinue agents list" shows them.');
  if (more.length > 0) throw usageError('"agents show" takes one name', "Quote a name that has spaces.");
  return { kind: "agents.show", name, ...place };
}

const place: Readonly<Record<string, OptionKind>> = {
  json: {},
  trust: {},
  cwd: { value: "DIRECTORY", short: "C" },
  help: { short: "h" },
};
const verbs: Verbs = {
  list: place,
  show: place,
  explain: { ...place, "permission-mode": { value: "MODE", choices: permissionModes }, background: {} },
  check: { jsonl: {}, help: { short: "h" } },
  lint: place,
  new: {
    description: { value: "TEXT" },
    tools: { value: "NAMES" },
    model: { value: "NAME", short: "m" },
    project: {},
    user: {},
    cwd: { value: "DIRECTORY", short: "C" },
    help: { short: "h" },
  },
};

function parseExplain(
  options: ReadOptions,
  where: { readonly json: boolean; readonly trust: boolean; readonly cwd?: string },
): Command {
  const [agent, call, ...more] = options.words;
  if (agent === undefined || call === undefined || more.length > 0) {
    const cure = "Write: retinue agents explain Explore 'Bash(git push)'";
    throw usageError('"agents explain" takes an agent and a call', cure);
  }
  const mode = options.value("permission-mode") as PermissionMode | undefined;
  const background = options.has("background");
  return { kind: "agents.explain", agent, call, background, ...(mode === undefined ? {} : { mode }), ...where };
}

function parseNew(options: ReadOptions): Command {
  const [name, ...more] = options.words;
  if (more.length > 0) throw usageError('"agents new" takes one name', "Write it with hyphens: code-reviewer.");
  if (options.has("project") && options.has("user")) {
    throw usageError("--project and --user are two places", "Use one of them.");
  }
  const description = options.value("description");
  const model = options.value("model");
  return {
    kind: "agents.new",
    scope: options.has("user") ? "user" : "project",
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(model === undefined ? {} : { model }),
    ...(options.has("tools") ? { tools: options.values("tools").flatMap(splitRules) } : {}),
    ...directoryOf(options),
  };
}

function directoryOf(options: ReadOptions): { readonly cwd?: string } {
  const cwd = options.value("cwd");
  return cwd === undefined ? {} : { cwd };
}
