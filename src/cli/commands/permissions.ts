import { createInterface } from "node:readline";
import { checkRows, listRules, type RuleList } from "../../app/index.ts";
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
    for await (const row of checkRows(createInterface({ input: process.stdin }), root)) {
      await output.write(`${JSON.stringify(row)}\n`);
    }
    return exitCodes.succeeded;
  }
  const list = listRules(settingsSources(command));
  await createOutput(process.stderr).write(messageLines([...list.notices, ...list.problems]));
  if (command.json) await output.write(`${JSON.stringify({ mode: list.mode, rules: list.rules }, null, 2)}\n`);
  else await output.write(renderRules(list, command.origin));
  return exitCodes.succeeded;
}

type PermissionsCommand =
  | ({ readonly kind: "list" } & SettingsQuery)
  | { readonly kind: "check"; readonly root: string | undefined };

const verbs = {
  list: settingsOptions,
  check: { jsonl: {}, root: { value: "DIRECTORY" }, help: helpOption },
};

function parsePermissions(argv: readonly string[]): PermissionsCommand | HelpRequest {
  const read = readVerb("permissions", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  refusePositionals(options, `permissions ${verb}`, 'See "retinue permissions --help".');
  if (verb === "list") return { kind: "list", ...parseSettingsQuery(options) };
  if (!options.has("jsonl"))
    throw usageError('"permissions check" needs --jsonl', "Add it, and pass the calls on standard input.");
  return { kind: "check", root: options.value("root") };
}

function renderRules({ rules, mode }: RuleList, origin: boolean): string {
  const about = `Mode: ${mode}.`;
  if (rules.length === 0) return `${about} There are no rules. Calls that the mode does not decide need approval.\n`;
  const head = origin ? ["EFFECT", "RULE", "FROM"] : ["EFFECT", "RULE"];
  const rows = rules.map(({ effect, text, scope, file, form }) => {
    const line = form === "compact" ? " (a line: the last match wins)" : "";
    return [effect, text, ...(origin ? [`${scope}${file === undefined ? "" : `, ${file}`}${line}`] : [])];
  });
  return `${about}\n${renderTable([head, ...rows], 0)}`;
}
