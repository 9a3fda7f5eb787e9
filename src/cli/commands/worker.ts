import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename } from "node:path";
import { createDirectoryWorker, systemClock, VERSION } from "../../app/index.ts";
import { describeError, errorCode, isWithin, UserError } from "../../lib/index.ts";
import { connectWorker, createSessionFiles } from "../../link/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines } from "../output.ts";
import { type HelpRequest, helpOption, readOptions, refusePositionals, usageError } from "../read-options.ts";
import { chosenDirectory, realDirectory } from "../real-directory.ts";
import { onStopSignal } from "../stop-signals.ts";

/** Interval at which the worker checks that its directory still exists. */
const LOOK_MS = 2_000;

/** Runs `retinue worker`, which offers a directory to a server's sessions until it is stopped. */
export async function worker(argv: readonly string[]): Promise<number> {
  const command = parseWorker(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const { server, ca, insecure } = command;
  const token = readToken(command);
  const cwd = chosenDirectory(command.cwd);
  const name = command.name ?? defaultName(cwd);
  const errors = createOutput(process.stderr);
  const report = (message: string): void => void errors.write(messageLines([message]));
  const stop = new AbortController();
  const { code: stopped } = onStopSignal({
    stop: () => {
      report("Stopping. This worker's sessions will continue when it is restarted.");
      stop.abort();
    },
  });
  if (command.tokenFile !== undefined && isWithin(realDirectory(command.tokenFile), cwd))
    report(`Agents can read the token: ${command.tokenFile} is in the worker's directory. Move it elsewhere.`);
  const looking = setInterval(() => existsSync(cwd) || stop.abort(), LOOK_MS);
  try {
    const { filesDirectory, ...own } = createDirectoryWorker({ name, cwd, environment: process.env, report });
    await connectWorker({
      ...own,
      files: createSessionFiles(filesDirectory, name),
      url: server,
      token,
      name,
      version: VERSION,
      clock: systemClock,
      signal: stop.signal,
      report,
      ca: ca === undefined ? undefined : readCertificate(ca),
      insecure,
    });
  } finally {
    clearInterval(looking);
  }
  const code = stopped();
  if (code !== undefined) return code;
  const fix = "Create it again and start the worker, or choose another one with --cwd.";
  throw new UserError(`The directory ${cwd} no longer exists`, { code: "cwd", fix, exitCode: exitCodes.usage });
}

interface WorkerCommand {
  readonly kind: "worker";
  readonly server: string;
  readonly name: string | undefined;
  readonly cwd: string | undefined;
  readonly tokenFile: string | undefined;
  readonly ca: string | undefined;
  readonly insecure: boolean;
}

function parseWorker(argv: readonly string[]): WorkerCommand | HelpRequest {
  const kinds = {
    server: { value: "URL" },
    name: { value: "NAME" },
    cwd: { value: "DIRECTORY", short: "C" },
    "token-file": { value: "FILE" },
    ca: { value: "FILE" },
    insecure: {},
    help: helpOption,
  };
  const help = "retinue worker --help";
  const options = readOptions(argv, { kinds, help });
  if (options.has("help")) return { kind: "help", topic: "worker" };
  refusePositionals(options, "worker", `See "${help}".`);
  const server = options.value("server");
  if (server === undefined)
    throw usageError(
      "A worker needs the address of its server",
      "Pass --server with the URL that `retinue serve` prints.",
    );
  const name = options.value("name");
  if (name !== undefined && !isName(name))
    throw usageError(`A worker can't be named "${name}"`, "Use letters, digits, dots, dashes and underscores.");
  return {
    kind: "worker",
    server,
    name,
    cwd: options.value("cwd"),
    tokenFile: options.value("token-file"),
    ca: options.value("ca"),
    insecure: options.has("insecure"),
  };
}

function isName(name: string): boolean {
  return /^[\w-][\w.-]{0,63}$/.test(name);
}

/** Returns the name of the machine and the directory, such as `laptop-shop`. */
function defaultName(cwd: string): string {
  const name = `${hostname().split(".")[0]}-${basename(cwd)}`.replaceAll(/[^\w.-]+/g, "-").slice(0, 64);
  return isName(name) ? name : "worker";
}

/**
 * Reads the token from a file or the environment. There is no option for the token itself, because other users of the
 * machine can see a program's arguments.
 */
function readToken({ tokenFile }: WorkerCommand): string {
  const token = tokenFile === undefined ? process.env["RETINUE_TOKEN"] : readText(tokenFile, "token-file");
  const text = token?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  const where = "`retinue serve` writes it to the worker-token file in its state directory.";
  if (text !== "")
    throw usageError(
      tokenFile === undefined ? "RETINUE_TOKEN is not a token" : `${tokenFile} does not contain a token`,
      `It must contain the token and nothing else. ${where}`,
    );
  if (tokenFile !== undefined) throw usageError(`${tokenFile} is empty`, `Write the token into it. ${where}`);
  throw usageError("A worker needs a token", `Set RETINUE_TOKEN, or pass --token-file FILE. ${where}`);
}

function readCertificate(path: string): string {
  const text = readText(path, "ca");
  try {
    new X509Certificate(text);
    return text;
  } catch {
    throw usageError(`${path} does not contain a certificate`, "Pass a file in PEM format.");
  }
}

function readText(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw usageError(
      `--${option} can't be read: ${path} (${errorCode(error) ?? describeError(error)})`,
      "Check the path.",
    );
  }
}
