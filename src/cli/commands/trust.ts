import { statSync } from "node:fs";
import {
  type AddedTrust,
  addTrust,
  listTrust,
  originsWithoutSecrets,
  refuseAgentCommand,
  removeTrust,
  stateDirectory,
} from "../../app/index.ts";
import { stripControls, UserError } from "../../lib/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines } from "../output.ts";
import { type HelpRequest, helpOption, readVerb, usageError } from "../read-options.ts";
import { realDirectory } from "../real-directory.ts";
import { renderOrigins } from "./effective-settings.ts";

/** Runs `retinue trust list|add|remove`. */
export async function trust(argv: readonly string[]): Promise<number> {
  const command = parseTrust(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const home = stateDirectory(process.env);
  const output = createOutput(process.stdout);
  if (command.kind === "list") return list(command.json, { home, write: output.write });
  const cwd = realDirectory(command.directory);
  if (command.kind === "add") {
    refuseAgentCommand("trust a directory");
    requireDirectory(cwd);
    const added = await addTrust({ home, cwd, environment: process.env });
    await createOutput(process.stderr).write(messageLines(added.notices));
    await output.write(renderAddedTrust(cwd, added));
    return exitCodes.succeeded;
  }
  refuseAgentCommand("stop trusting a directory");
  const { removed, stillBy } = await removeTrust({ home, cwd });
  if (stillBy !== undefined) {
    const above = stripControls(stillBy);
    await output.write(
      `Still trusted because of ${above}: ${stripControls(cwd)}\nTo change that: retinue trust remove ${above}\n`,
    );
    return exitCodes.failed;
  }
  await output.write(`${removed ? "No longer trusted" : "Was not trusted before"}: ${stripControls(cwd)}\n`);
  return removed ? exitCodes.succeeded : exitCodes.failed;
}

export function renderAddedTrust(cwd: string, { approved, active }: AddedTrust): string {
  const parts = active.map(({ kind, names }) => `${kind}${names.length === 1 ? "" : "s"} ${names.join(", ")}`);
  const now = parts.length === 0 ? "" : `${stripControls(`Now active: ${parts.join("; ")}.`)}\n`;
  const settings =
    approved.length === 0
      ? "The directory has no settings that need trust.\n"
      : `These settings from the directory apply until they are changed:\n${renderOrigins(originsWithoutSecrets(approved, { showEnv: true }), { origin: true })}`;
  return `Trusted: ${stripControls(cwd)}\n${now}${settings}`;
}

type TrustCommand =
  | { readonly kind: "list"; readonly json: boolean }
  | { readonly kind: "add" | "remove"; readonly directory: string };

const verbs = {
  list: { json: {}, help: helpOption },
  add: { help: helpOption },
  remove: { help: helpOption },
};

export function parseTrust(argv: readonly string[]): TrustCommand | HelpRequest {
  const read = readVerb("trust", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const [directory = ".", ...more] = options.positionals;
  if (verb === "list") {
    if (options.positionals.length > 0)
      throw usageError('"trust list" takes no directory', 'Use "retinue trust list".');
    return { kind: "list", json: options.has("json") };
  }
  if (more.length > 0) throw usageError(`"trust ${verb}" takes one directory`, "Name one at a time.");
  return { kind: verb === "add" ? "add" : "remove", directory };
}

function requireDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  throw usageError(`${path} is not a directory`, "Name the directory to trust.");
}

async function list(
  json: boolean,
  { home, write }: { readonly home: string; readonly write: (text: string) => Promise<void> },
): Promise<number> {
  const { trusted, problem } = listTrust(home);
  if (problem !== undefined) throw new UserError(problem, { code: "trust", exitCode: 2 });
  if (json) await write(`${JSON.stringify(trusted, null, 2)}\n`);
  else if (trusted.length === 0) await write("No directory is trusted.\n");
  else await write(trusted.map(({ path, since }) => `${since.slice(0, 10)}  ${stripControls(path)}\n`).join(""));
  return exitCodes.succeeded;
}
