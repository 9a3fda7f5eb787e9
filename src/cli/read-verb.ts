import { nearest } from "../lib/index.ts";
import type { Command, HelpTopic } from "./command.ts";
import { type OptionKind, type ReadOptions, readOptions, usageError } from "./read-options.ts";

/** The options of each verb, by their long names. */
export type Verbs = Readonly<Record<string, Readonly<Record<string, OptionKind>>>>;

interface VerbOptions {
  readonly verbs: Verbs;
  /** Verbs that are read elsewhere. */
  readonly others?: readonly string[];
}

/**
 * The verb behind a command's name and its options; the first of `verbs` where none is named. Who asks for help gets
 * that. Throws a `UserError` with exit code 2 for what it can't read.
 */
export function readVerb(
  topic: HelpTopic,
  argv: readonly string[],
  { verbs, others = [] }: VerbOptions,
): Extract<Command, { kind: "help" }> | { readonly verb: string; readonly options: ReadOptions } {
  const known = Object.keys(verbs);
  const [first = "-"] = argv;
  const isNamed = !first.startsWith("-");
  const verb = isNamed ? first : (known[0] ?? "");
  if (verb === "help") return { kind: "help", topic };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) throw unknownVerb(topic, verb, [...known, ...others]);
  const options = readOptions(isNamed ? argv.slice(1) : argv, { kinds, help: `retinue ${topic} --help` });
  return options.has("help") ? { kind: "help", topic } : { verb, options };
}

function unknownVerb(topic: HelpTopic, verb: string, known: readonly string[]) {
  const [meant] = nearest(verb, known);
  const [only = ""] = known;
  const all = known.length === 1 ? `Write "retinue ${topic} ${only}".` : `There are ${inWords(known)}.`;
  return usageError(`"${topic}" has no command "${verb}"`, meant === undefined ? all : `Did you mean "${meant}"?`);
}

function inWords(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
