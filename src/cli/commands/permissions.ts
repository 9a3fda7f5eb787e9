import { createInterface } from "node:readline";
import { permissionCommands, stateDirectory } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { realDirectory } from "../real-directory.ts";
import { renderTable } from "./listing.ts";

type PermissionsCommand = Extract<Command, { kind: `permissions.${string}` }>;

/** `retinue permissions list|check`. */
export async function permissions(command: PermissionsCommand): Promise<number> {
  const { checkRows, listRules } = await permissionCommands();
  const output = createOutput(process.stdout, () => undefined);
  if (command.kind === "permissions.check") {
    const root = command.root === undefined ? undefined : realDirectory(command.root);
    for await (const row of checkRows(createInterface({ input: process.stdin }), root)) {
      await output.write(`${JSON.stringify(row)}\n`);
    }
    return exitCodes.succeeded;
  }
  const { json, origin, trust, settings: file } = command;
  const list = listRules({
    home: stateDirectory(process.env),
    cwd: realDirectory(command.cwd ?? "."),
    environment: process.env,
    trust,
    ...(file === undefined ? {} : { file }),
  });
  const told = [...list.notices, ...list.problems].map((notice) => `retinue: ${stripControls(notice)}\n`).join("");
  await createOutput(process.stderr, () => undefined).write(told);
  if (json) await output.write(`${JSON.stringify({ mode: list.mode, rules: list.rules }, null, 2)}\n`);
  else await output.write(renderRules(list, origin));
  return exitCodes.succeeded;
}

type RuleList = ReturnType<Awaited<ReturnType<typeof permissionCommands>>["listRules"]>;

function renderRules({ rules, mode }: RuleList, origin: boolean): string {
  const about = `Mode: ${mode}.`;
  if (rules.length === 0) return `${about} There are no rules; what the mode leaves open is asked.\n`;
  const head = origin ? ["EFFECT", "RULE", "FROM"] : ["EFFECT", "RULE"];
  const rows = rules.map(({ effect, text, scope, file, form }) => {
    const line = form === "compact" ? " (a line: the last match wins)" : "";
    return [effect, text, ...(origin ? [`${scope}${file === undefined ? "" : `, ${file}`}${line}`] : [])];
  });
  return `${about}\n${renderTable([head, ...rows], 0)}`;
}
