import { nearest } from "../lib/index.ts";
import type { Command } from "./command.ts";
import { type OptionKind, type ReadOptions, readOptions, usageError } from "./read-options.ts";

/** The words after `retinue approvals`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseApprovals(argv: readonly string[]): Command {
  const [first = "list"] = argv;
  const verb = first.startsWith("-") ? "list" : first;
  if (verb === "help") return { kind: "help", topic: "approvals" };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) {
    const meant = nearest(verb, Object.keys(verbs))[0];
    throw usageError(
      `"approvals" has no command "${verb}"`,
      meant ? `Did you mean "${meant}"?` : "There are list and answer.",
    );
  }
  const options = readOptions(verb === first ? argv.slice(1) : argv, { kinds, help: "retinue approvals --help" });
  if (options.has("help")) return { kind: "help", topic: "approvals" };
  return verb === "answer" ? parseAnswer(options) : parseList(options);
}

const help: OptionKind = { short: "h" };
const verbs: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  list: { session: { value: "ID" }, all: {}, cwd: { value: "DIRECTORY", short: "C" }, json: {}, help },
  answer: {
    pattern: { value: "PATTERN" },
    project: {},
    message: { value: "TEXT" },
    input: { value: "JSON" },
    json: {},
    help,
  },
};

function parseList(options: ReadOptions): Command {
  const [word] = options.words;
  if (word !== undefined) throw usageError(`"approvals list" does not take "${word}"`, "See --session and --cwd.");
  const session = options.value("session");
  const cwd = options.value("cwd");
  return {
    kind: "approvals.list",
    json: options.has("json"),
    all: options.has("all"),
    ...(session === undefined ? {} : { session }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

const answers = ["allow", "deny", "always"] as const;
/** Which answers an option goes with. */
const allowed = { message: ["deny"], input: ["allow"], pattern: ["always"], project: ["always"] } as const;

function parseAnswer(options: ReadOptions): Command {
  const [request, answer, ...more] = options.words;
  const usage = "Write: retinue approvals answer REQUEST allow|deny|always.";
  if (request === undefined) throw usageError('"approvals answer" needs a request', usage);
  const verb = answers.find((each) => each === answer);
  if (verb === undefined || more.length > 0) throw usageError(`The answer is one of ${answers.join(", ")}`, usage);
  for (const [name, verbsOf] of Object.entries(allowed)) {
    if (options.has(name) && !(verbsOf as readonly string[]).includes(verb))
      throw usageError(`--${name} goes with "${verbsOf[0]}"`, `Leave it out, or answer ${verbsOf[0]}.`);
  }
  const message = options.value("message");
  const pattern = options.value("pattern");
  const inputJson = options.value("input");
  if (inputJson !== undefined && !isObject(inputJson))
    throw usageError("--input is no JSON object", `Write the whole input: --input '{"command": "npm test"}'.`);
  return {
    kind: "approvals.answer",
    request,
    verb,
    project: options.has("project"),
    json: options.has("json"),
    ...(message === undefined ? {} : { message }),
    ...(pattern === undefined ? {} : { pattern }),
    ...(inputJson === undefined ? {} : { inputJson }),
  };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
