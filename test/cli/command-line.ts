import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ApiServer, type ApiServerOptions, createApiServer, type Script } from "../../src/testing/index.ts";
import { sandboxSetting } from "../../src/testing/sandbox-setting.test-support.ts";
import { dist, type Ended, type HostedCommand, startInHost } from "./hosted-command.ts";

export { dist, type Ended, type HostedCommand };

export interface Place {
  readonly home: string;
  readonly cwd: string;
}

/** Creates a working directory and a state directory, which are deleted after the test. */
export function createPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-cli-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  return { home: join(root, "home"), cwd };
}

/** Creates a place where no output depends on whether a sandbox is available. */
export function createPlaceWithSettings(): Place {
  const place = createPlace();
  mkdirSync(place.home, { mode: 0o700 });
  writeFileSync(join(place.home, "settings.json"), JSON.stringify({ sandbox: sandboxSetting }));
  return place;
}

export async function serve(script: Script, options: Omit<ApiServerOptions, "script"> = {}): Promise<ApiServer> {
  const server = await createApiServer({ script, ...options });
  onTestFinished(() => server.close());
  return server;
}

export interface StartOptions extends Place {
  /** Server to use as the Anthropic provider, with a key. By default, no provider is configured. */
  readonly server?: ApiServer;
  readonly environment?: Readonly<Record<string, string>>;
  /** Content of standard input; empty by default. */
  readonly input?: string;
  /** Program to run instead of the built program. */
  readonly program?: string;
  /** User to run as instead of the user who runs the tests. */
  readonly uid?: number | undefined;
  /** Command to run instead of Retinue, with Retinue's command line as its last arguments. */
  readonly through?: readonly string[];
}

/** Starts a process that is ended after the test. */
export function startRetinue(words: readonly string[], options: StartOptions): ChildProcessWithoutNullStreams {
  const child = spawnRetinue(words, options);
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  });
  return child;
}

/** Starts a process that the caller ends. */
export function spawnRetinue(words: readonly string[], options: StartOptions): ChildProcessWithoutNullStreams {
  const { cwd, program, uid, through = [] } = options;
  const node = program === undefined ? nodeFor(words) : [program];
  const [file = "", ...rest] = [...through, process.execPath, ...node, ...words];
  return spawn(file, rest, { cwd, uid, gid: uid, env: environmentFor(options) });
}

/** Returns Node's arguments for the built program. */
function nodeFor([command = ""]: readonly string[]): readonly string[] {
  const isServing = command === "serve" || command === "worker";
  return [...(isServing ? ["--require", join(import.meta.dirname, "keep-compiled.cjs")] : []), join(dist, "cli.cjs")];
}

function environmentFor({ home, server, environment }: StartOptions): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: join(home, ".."),
    RETINUE_HOME: home,
    ...(server ? { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "sk-test-secret" } : {}),
    ...environment,
  };
}

/** Runs a command in a separate process. */
export async function retinueProcess(words: readonly string[], options: StartOptions): Promise<Ended> {
  const child = startRetinue(words, options);
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  return ended(child);
}

/** Runs a command in a process that has run others before (command-host.mjs), unless the options need a new process. */
export async function retinue(words: readonly string[], options: StartOptions): Promise<Ended> {
  if (options.program ?? options.through ?? options.uid) return retinueProcess(words, options);
  const { cwd, input } = options;
  return runInHost({ words, cwd, environment: environmentFor(options), input });
}

/** Runs a command or a program in a process that has run others before (command-host.mjs). */
export async function runInHost(command: HostedCommand): Promise<Ended> {
  const { ended, kill } = startInHost(command);
  onTestFinished(kill);
  return ended;
}

export function ended(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  const parts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      parts[name] += text;
    });
  }
  return new Promise((settle) => child.on("close", (code, signal) => settle({ code, signal, ...parts })));
}

export interface ResultLine {
  readonly type: string;
  readonly subtype: string;
  readonly is_error: boolean;
  readonly result: string;
  readonly errors?: readonly string[];
  readonly session_id: string;
  readonly reason: string;
  readonly outcome: string;
  readonly permission_denials: readonly { readonly tool_name: string; readonly message: string }[];
  readonly facts: { readonly filesChanged: readonly string[]; readonly unknown: readonly string[] };
}

export function resultOf({ stdout }: Ended): ResultLine {
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as ResultLine;
}

export function jsonLines({ stdout }: Ended): Record<string, unknown>[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Runs a script like an agent's command that has removed its tag. `"$@"` in the script is Retinue's command line. */
export function underCommand(script: string): Pick<StartOptions, "environment" | "through"> {
  const through = ["setsid", "--wait", "sh", "-c", `unset RETINUE_TAG; ${script}; exit $?`, "sh"];
  return { environment: { RETINUE_TAG: "a-command" }, through };
}
