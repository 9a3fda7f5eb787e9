import { nearest } from "../lib/index.ts";
import type { Command } from "./command.ts";
import { type OptionKind, readOptions, usageError } from "./read-options.ts";
import { sessionAndAgent } from "./sessions-arguments.ts";

/** The words after `retinue cache`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseCache(argv: readonly string[]): Command {
  const [first = "report"] = argv;
  const verb = first.startsWith("-") ? "report" : first;
  if (verb === "help") return { kind: "help", topic: "cache" };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) {
    const meant = nearest(verb, Object.keys(verbs))[0];
    const cure = meant === undefined ? "There are report and explain." : `Did you mean "${meant}"?`;
    throw usageError(`"cache" has no command "${verb}"`, cure);
  }
  const options = readOptions(verb === first ? argv.slice(1) : argv, { kinds, help: "retinue cache --help" });
  if (options.has("help")) return { kind: "help", topic: "cache" };
  const [id, ...more] = options.words;
  if (more.length > 0) throw usageError(`"cache ${verb}" takes one id`, "Name one session at a time.");
  const cwd = options.value("cwd");
  const place = { json: options.has("json"), ...(cwd === undefined ? {} : { cwd }) };
  if (verb === "report") return { kind: "cache.report", ...(id === undefined ? {} : { id }), ...place };
  const agent = options.value("agent");
  const chosen = id === undefined ? { ...(agent === undefined ? {} : { agent }) } : sessionAndAgent(id, agent);
  return { kind: "cache.explain", ...chosen, ...place };
}

const help: OptionKind = { short: "h" };
const cwd: OptionKind = { value: "DIRECTORY", short: "C" };
const verbs: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  report: { json: {}, cwd, help },
  explain: { json: {}, agent: { value: "ID" }, cwd, help },
};
