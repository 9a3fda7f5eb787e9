import type { UserError } from "../../../lib/index.ts";
import type { Command } from "../../command.ts";
import { type OptionKind, usageError } from "../../read-options.ts";
import { readVerb, type Verbs } from "../../read-verb.ts";

const help: OptionKind = { short: "h" };
const verbs: Verbs = {
  list: { json: {}, all: {}, cwd: { value: "DIRECTORY", short: "C" }, help },
  show: { json: {}, agent: { value: "ID" }, help },
  export: { help },
  delete: { yes: { short: "y" }, help },
};

export function parseSessions(argv: readonly string[]): Command {
  const read = readVerb("sessions", argv, { verbs, others: ["resume"] });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const [id, ...more] = options.words;
  const json = options.has("json");
  if (verb === "list") {
    const cwd = options.value("cwd");
    if (id !== undefined) throw usageError('"sessions list" takes no id', `Use "retinue sessions show ${id}".`);
    return { kind: "sessions.list", json, all: options.has("all"), ...(cwd === undefined ? {} : { cwd }) };
  }
  if (id === undefined) {
    throw needsSession(verb);
  }
  if (verb === "delete") return { kind: "sessions.delete", ids: options.words, yes: options.has("yes") };
  if (more.length > 0) throw usageError(`"sessions ${verb}" takes one id`, "Name one session at a time.");
  if (verb === "export") return { kind: "sessions.export", id };
  return { kind: "sessions.show", ...sessionAndAgent(id, options.value("agent")), json };
}

export function needsSession(verb: string): UserError {
  return usageError(`"sessions ${verb}" needs the id of a session`, '"retinue sessions list" shows them.');
}

/** An agent's id stands behind a slash, or in an option of its own. */
export function sessionAndAgent(
  word: string,
  option: string | undefined,
): { readonly id: string; readonly agent?: string } {
  const at = word.indexOf("/");
  const behind = at < 0 ? undefined : word.slice(at + 1);
  if (behind === "") throw usageError(`"${word}" names no agent`, "Write SESSION/AGENT, or leave the slash out.");
  if (behind !== undefined && option !== undefined) {
    throw usageError(`"${word}" and --agent both name an agent`, "Use one of them.");
  }
  const agent = behind ?? option;
  const id = at < 0 ? word : word.slice(0, at);
  if (id === "") throw usageError(`"${word}" names no session`, '"retinue sessions list" shows them.');
  return { id, ...(agent === undefined ? {} : { agent }) };
}
