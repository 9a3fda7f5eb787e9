import type { Command } from "../command.ts";
import { type OptionKind, type ReadOptions, usageError } from "../read-options.ts";
import { readVerb, type Verbs } from "../read-verb.ts";

/** The words after `retinue approvals`. Throws a `UserError` with exit code 2 for what it can't read. */
export function parseApprovals(argv: readonly string[]): Command {
  const read = readVerb("approvals", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  return verb === "answer" ? parseAnswer(options) : parseList(options);
}

const help: OptionKind = { short: "h" };
const verbs: Verbs = {
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
