import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkInstallation, type Finding, stateDirectory } from "../../app/index.ts";
import { stripControls, UserError } from "../../lib/index.ts";
import { openSchedules } from "../../schedules/index.ts";
import type { CodeCache } from "../code-cache.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, withFlags } from "../output.ts";
import { type HelpRequest, helpOption, readOptions, refusePositionals } from "../read-options.ts";
import { realDirectory } from "../real-directory.ts";

/** Runs `retinue doctor`, which checks the installation and says how to repair it. */
export async function doctor(argv: readonly string[], codeCache: CodeCache): Promise<number> {
  const command = parseDoctor(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const { json, settings, provider, model } = command;
  const examined = await checkInstallation({
    home: stateDirectory(process.env),
    cwd: realDirectory("."),
    environment: process.env,
    settingsFile: settings,
    provider,
    model,
  });
  const findings = [
    ...examined.map((each) => ({ ...each, found: withFlags(each.found) })),
    // If the state directory can't be used, the finding about the directory is enough.
    ...(examined.some(({ name, status }) => name === "state" && status === "fail")
      ? []
      : examineSchedules(stateDirectory(process.env))),
    examineCodeCache(codeCache),
  ];
  const output = createOutput(process.stdout);
  const isHealthy = findings.every(({ status }) => status !== "fail");
  const color = output.isTerminal && !process.env["NO_COLOR"];
  const text = json ? JSON.stringify({ ok: isHealthy, findings }, null, 2) : renderFindings(findings, { color });
  await output.write(`${text}\n`);
  return isHealthy ? exitCodes.succeeded : exitCodes.failed;
}

interface DoctorCommand {
  readonly kind: "doctor";
  readonly json: boolean;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly settings: string | undefined;
}

export function parseDoctor(argv: readonly string[]): DoctorCommand | HelpRequest {
  const kinds = {
    json: {},
    provider: { value: "NAME" },
    model: { value: "NAME", short: "m" },
    settings: { value: "FILE" },
    help: helpOption,
  };
  const options = readOptions(argv, { kinds, help: "retinue doctor --help" });
  if (options.has("help")) return { kind: "help", topic: "doctor" };
  refusePositionals(options, "doctor", 'See "retinue doctor --help".');
  return {
    kind: "doctor",
    json: options.has("json"),
    provider: options.value("provider"),
    model: options.value("model"),
    settings: options.value("settings"),
  };
}

/** Checks the schedules. Returns no findings if there are no schedules. */
function examineSchedules(home: string): readonly Finding[] {
  const name = "schedules";
  try {
    const store = openSchedules(join(home, "schedules.json"));
    const all = store.list();
    const findings = [
      ...store.problems().map((found): Finding => ({ name, status: "warn", found, fix: "Correct the file." })),
      ...all
        .filter(({ cwd }) => !existsSync(cwd))
        .map(({ id, cwd }): Finding => {
          const fix = `Restore the directory, or run "retinue schedule remove ${id}".`;
          return { name, status: "warn", found: `${id} can't start: ${cwd} does not exist`, fix };
        }),
    ];
    if (findings.length > 0 || all.length === 0) return findings;
    return [{ name, status: "ok", found: `${all.length} in ${join(home, "schedules.json")}` }];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, fix = "Correct the file." } = error;
    return [{ name, status: "fail", found: message, fix }];
  }
}

function examineCodeCache({ file, target, problem }: CodeCache): Finding {
  const name = "compiled";
  if (file !== undefined) return { name, status: "ok", found: `${file} is in use` };
  if (problem === undefined) {
    return {
      name,
      status: "ok",
      found: `no compiled code for this version of Node yet; the next run writes ${target}`,
    };
  }
  const found = `every start compiles the program: ${problem.found}`;
  return { name, status: "warn", found, fix: problem.fix };
}

const signs = { ok: "✓", warn: "!", fail: "✗" } as const;
const colors = { ok: 32, warn: 33, fail: 31 } as const;

function renderFindings(findings: readonly Finding[], { color }: { readonly color: boolean }): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, status, found, fix }) => {
    const sign = color ? `\u001b[${colors[status]}m${signs[status]}\u001b[39m` : signs[status];
    const line = `${sign} ${name.padEnd(width)}  ${stripControls(found)}`;
    return fix === undefined ? [line] : [line, `  ${"".padEnd(width)}  → ${stripControls(fix)}`];
  });
  const failed = findings.filter(({ status }) => status === "fail").length;
  const warned = findings.filter(({ status }) => status === "warn").length;
  return [...lines, "", summary(failed, warned)].join("\n");
}

function summary(failed: number, warned: number): string {
  if (failed > 0) return failed === 1 ? "Found 1 problem (✗)." : `Found ${failed} problems (✗).`;
  return warned > 0 ? "Ready. Retinue works without the parts that are marked with !." : "Ready. Nothing is missing.";
}
