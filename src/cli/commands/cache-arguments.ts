import type { Command } from "../command.ts";
import { type OptionKind, usageError } from "../read-options.ts";
import { readVerb, type Verbs } from "../read-verb.ts";
import { sessionAndAgent } from "./sessions/sessions-arguments.ts";

/** The words after `retinue cache`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseCache(argv: readonly string[]): Command {
  const read = readVerb("cache", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
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
const verbs: Verbs = {
  report: { json: {}, cwd, help },
  explain: { json: {}, agent: { value: "ID" }, cwd, help },
};
