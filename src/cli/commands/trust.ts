import { statSync } from "node:fs";
import { stateDirectory, trustCommands, UserError } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { realDirectory } from "../real-directory.ts";
import { renderOrigins } from "./effective-settings.ts";

type TrustCommand = Extract<Command, { kind: `trust.${string}` }>;

/** `retinue trust list|add|remove`. */
export async function trust(command: TrustCommand): Promise<number> {
  const home = stateDirectory(process.env);
  const output = createOutput(process.stdout, () => undefined);
  if (command.kind === "trust.list") return list(command, { home, write: output.write });
  const cwd = realDirectory(command.directory);
  const { addTrust, removeTrust } = await trustCommands();
  if (command.kind === "trust.add") {
    mustBeDirectory(cwd);
    const { counts, notices } = await addTrust({ home, cwd, environment: process.env });
    await createOutput(process.stderr, () => undefined).write(
      notices.map((notice) => `retinue: ${stripControls(notice)}\n`).join(""),
    );
    const own =
      counts.length === 0
        ? "Its settings files allow nothing.\n"
        : `Until they change, these of its settings count:\n${renderOrigins(counts, { origin: true })}`;
    await output.write(`Trusted: ${stripControls(cwd)}\n${own}`);
    return exitCodes.succeeded;
  }
  const { removed, stillBy } = await removeTrust({ home, cwd });
  if (stillBy !== undefined) {
    const above = stripControls(stillBy);
    await output.write(
      `Still trusted, with ${above}: ${stripControls(cwd)}\nTo end that: retinue trust remove ${above}\n`,
    );
    return exitCodes.failed;
  }
  await output.write(`${removed ? "No longer trusted" : "It was not trusted"}: ${stripControls(cwd)}\n`);
  return removed ? exitCodes.succeeded : exitCodes.failed;
}

function mustBeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new UserError(`${path} is not a directory`, {
    code: "usage",
    cure: "Name the directory to trust.",
    exitCode: 2,
  });
}

async function list(
  { json }: Extract<Command, { kind: "trust.list" }>,
  { home, write }: { readonly home: string; readonly write: (text: string) => Promise<void> },
): Promise<number> {
  const { listTrust } = await trustCommands();
  const { trusted, problem } = listTrust(home);
  if (problem !== undefined) throw new UserError(problem, { code: "trust", exitCode: 2 });
  if (json) await write(`${JSON.stringify(trusted, null, 2)}\n`);
  else if (trusted.length === 0) await write("No directory is trusted.\n");
  else await write(trusted.map(({ path, since }) => `${since.slice(0, 10)}  ${stripControls(path)}\n`).join(""));
  return exitCodes.succeeded;
}
