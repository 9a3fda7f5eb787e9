import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stateDirectory, systemClock, VERSION } from "../../app/index.ts";
import { errorCode } from "../../lib/index.ts";
import { createWorkerHub } from "../../link/index.ts";
import { createServer, type RunningServer, type ServerOptions } from "../../server/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines } from "../output.ts";
import { type HelpRequest, helpOption, readOptions, refusePositionals, usageError } from "../read-options.ts";
import { chosenDirectory } from "../real-directory.ts";
import { onStopSignal } from "../stop-signals.ts";

const DEFAULT_PORT = 7333;

/** Runs `retinue serve`, which serves directories' sessions over HTTP until it is stopped. */
export async function serve(argv: readonly string[]): Promise<number> {
  const command = parseServe(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const { projects, tlsCert, tlsKey, json, ...rest } = command;
  const errors = createOutput(process.stderr);
  const report = (message: string): void => void errors.write(messageLines([message]));
  const server = await createServer({
    ...rest,
    home: stateDirectory(process.env),
    environment: process.env,
    projects:
      projects.length === 0 ? [chosenDirectory(undefined)] : projects.map((each) => chosenDirectory(each, "project")),
    tls: tlsCert && tlsKey ? { cert: readPem(tlsCert, "tls-cert"), key: readPem(tlsKey, "tls-key") } : undefined,
    // The build puts the page next to the bundle.
    web: join(import.meta.dirname, "web"),
    clock: systemClock,
    hub: createWorkerHub({ version: VERSION, clock: systemClock }),
    report,
  });
  const stopped = new Promise((stop) => onStopSignal({ stop }));
  await createOutput(process.stdout).write(json ? `${JSON.stringify(described(server))}\n` : startText(server));
  await stopped;
  report("Stopping. Sessions will continue when the server is restarted.");
  await server.close();
  return exitCodes.succeeded;
}

interface ServeCommand
  extends Required<Pick<ServerOptions, "port" | "host" | "allowHosts" | "allowOrigins" | "insecure" | "resume">> {
  readonly kind: "serve";
  readonly projects: readonly string[];
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly json: boolean;
}

export function parseServe(argv: readonly string[]): ServeCommand | HelpRequest {
  const kinds = {
    port: { value: "N" },
    host: { value: "ADDRESS" },
    project: { value: "DIRECTORY" },
    "allow-host": { value: "NAME" },
    "allow-origin": { value: "ORIGIN" },
    "tls-cert": { value: "FILE" },
    "tls-key": { value: "FILE" },
    insecure: {},
    "no-resume": {},
    json: {},
    help: helpOption,
  };
  const help = "retinue serve --help";
  const options = readOptions(argv, { kinds, help });
  if (options.has("help")) return { kind: "help", topic: "serve" };
  refusePositionals(options, "serve", `To serve a directory, use --project DIRECTORY. See "${help}".`);
  const [tlsCert, tlsKey] = [options.value("tls-cert"), options.value("tls-key")];
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw usageError("--tls-cert and --tls-key must be used together", "Pass both, or neither.");
  return {
    kind: "serve",
    port: readPort(options.value("port")),
    host: options.value("host"),
    projects: options.values("project"),
    allowHosts: options.values("allow-host").map(checkedHost),
    allowOrigins: options.values("allow-origin").map(checkedOrigin),
    tlsCert,
    tlsKey,
    insecure: options.has("insecure"),
    resume: !options.has("no-resume"),
    json: options.has("json"),
  };
}

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port;
  throw usageError(`--port can't be "${text}"`, "Use a number from 1 to 65535, or 0 for any free port.");
}

/**
 * Checks that a name can be a host name. Wildcards are not allowed, because the name protects against DNS rebinding.
 */
function checkedHost(text: string): string {
  if (/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(text)) return text;
  throw usageError(`--allow-host can't be "${text}"`, "Use one name or address, such as build.example.com.");
}

/** Checks that an origin has the form that browsers send. */
function checkedOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.origin === text) return text;
  throw usageError(`--allow-origin can't be "${text}"`, "Use the form https://app.example.com, without a path.");
}

function readPem(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw usageError(`--${option} can't be read: ${path} (${errorCode(error)})`, "Pass a file in PEM format.");
  }
}

function described({ url, link, token, file, projects }: RunningServer) {
  return { url, link, token, file, pid: process.pid, projects };
}

function startText({ url, link, file, projects }: RunningServer): string {
  const list = projects.map(({ name, root }) => `  ${name}  ${root}\n`).join("");
  return `Serving on ${url}\n${list}\nOpen this link. It works once, and contains a token that allows everything:\n  ${link}\n\nThe token for other programs is in ${file}. It can't approve calls.\n`;
}
