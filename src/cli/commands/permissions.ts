import { createInterface } from "node:readline";
import { checkRows, INVALID_ROW, listRules, type RuleList } from "../../app/index.ts";
import { plural } from "../../lib/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines } from "../output.ts";
import { type HelpRequest, helpOption, readVerb, refusePositionals, usageError } from "../read-options.ts";
import { realDirectory } from "../real-directory.ts";
import { parseSettingsQuery, type SettingsQuery, settingsOptions, settingsSources } from "./effective-settings.ts";
import { renderTable } from "./listing.ts";

/** Runs `retinue permissions list|check`. */
export async function permissions(argv: readonly string[]): Promise<number> {
  const command = parsePermissions(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const output = createOutput(process.stdout);
  if (command.kind === "check") {
    const root = command.root === undefined ? undefined : realDirectory(command.root);
    const { sandbox } = command;
    let invalid = 0;
    for await (const row of checkRows(inputLines(), { root, sandbox })) {
      if (row.rule === INVALID_ROW) invalid += 1;
      await output.write(`${JSON.stringify(row)}\n`);
    }
    if (invalid === 0) return exitCodes.succeeded;
    const problem = `${plural(invalid, "row")} can't be used: see "${INVALID_ROW}" in the output.`;
    await createOutput(process.stderr).write(messageLines([problem]));
    return exitCodes.usage;
  }
  const list = listRules(settingsSources(command));
  await createOutput(process.stderr).write(messageLines([...list.notices, ...list.problems]));
  if (command.json) await output.write(`${JSON.stringify({ mode: list.mode, rules: list.rules }, null, 2)}\n`);
  else await output.write(renderRules(list, command.origin));
  return exitCodes.succeeded;
}

/** Starts reading when the first line is requested, because readline drops lines that arrive earlier. */
async function* inputLines(): AsyncGenerator<string> {
  yield* createInterface({ input: process.stdin });
}

type PermissionsCommand =
  | ({ readonly kind: "list" } & SettingsQuery)
  | { readonly kind: "check"; readonly root: string | undefined; readonly sandbox: SandboxAssumption };

const assumptions = ["on", "off", "auto"] as const;
type SandboxAssumption = (typeof assumptions)[number];

const verbs = {
  list: settingsOptions,
  check: {
    jsonl: {},
    root: { value: "DIRECTORY" },
    sandbox: { value: "WHETHER", choices: assumptions },
    help: helpOption,
  },
};

function parsePermissions(argv: readonly string[]): PermissionsCommand | HelpRequest {
  const read = readVerb("permissions", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const explain = `For the decision about one call: retinue agents explain main 'Bash(git push)'.`;
  refusePositionals(options, `permissions ${verb}`, explain);
  if (verb === "list") return { kind: "list", ...parseSettingsQuery(options) };
  if (!options.has("jsonl"))
    throw usageError('"permissions check" needs --jsonl', `Add it, and pass the calls on standard input. ${explain}`);
  const sandbox = assumptions.find((each) => each === options.value("sandbox")) ?? "auto";
  return { kind: "check", root: options.value("root"), sandbox };
}

export function renderRules({ rules, mode }: RuleList, origin: boolean): string {
  const about = `Mode: ${mode}.`;
  if (rules.length === 0)
    return `${about} There are no rules. Calls that the mode neither allows nor denies need approval.\n`;
  const marks = rules.some(({ ignored }) => ignored);
  const head = ["EFFECT", "RULE", ...(marks ? [""] : []), ...(origin ? ["FROM"] : [])];
  const rows = rules.map(({ effect, text, scope, file, form, ignored }) => {
    const line = form === "compact" ? " (short form: the last matching rule applies)" : "";
    const mark = marks ? [ignored ? "ignored" : ""] : [];
    return [effect, text, ...mark, ...(origin ? [`${scope}${file === undefined ? "" : `, ${file}`}${line}`] : [])];
  });
  return `${about}\n${renderTable([head, ...rows], 0)}`;
}
