import { execFileSync, spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { listSessions } from "../../src/app/index.ts";
import { startFromFile } from "../../src/testing/index.ts";
import { runInHost } from "../cli/command-line.ts";
import type { Directive } from "./blocks.ts";
import { repository } from "./repository.ts";

/** Environment in which the examples of one page run: a repository, a home directory, and `retinue` in PATH. */
export interface PagePlace {
  readonly settingsFile: string;
  /** Runs a program as a reader of the page would. */
  run(program: readonly string[], directive: Directive): Promise<Printed>;
  /** Runs the lines of a shell block. Starts a shell only if a line is more than a Retinue command. */
  runLines(lines: string, directive: Directive): Promise<Printed>;
  /** Returns the text with the directive's session id replaced by the newest session's id. */
  fill(text: string, directive: Directive): string;
  remove(): void;
}

export interface Printed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const root = join(import.meta.dirname, "../..");

export function createPagePlace(): PagePlace {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "retinue-docs-")));
  const cwd = join(base, "shop");
  const home = join(base, ".retinue");
  const settingsFile = join(home, "settings.json");
  template ??= makeRepository();
  cpSync(template, cwd, { recursive: true });
  mkdirSync(home);
  putOnPath(join(base, "bin"));
  const environment = {
    PATH: `${join(base, "bin")}:${process.env["PATH"]}`,
    HOME: base,
    LANG: "C.UTF-8",
    TERM: "dumb",
  };

  type Start = (place: Surroundings) => Promise<Printed>;

  async function withProvider(directive: Directive, start: Start): Promise<Printed> {
    if (directive.api === undefined) return start({ cwd, environment });
    const server = await startFromFile(join(import.meta.dirname, "answers", `${directive.api}.json`));
    const settings = directive.address === undefined ? undefined : readFileSync(settingsFile, "utf8");
    try {
      if (settings !== undefined) writeFileSync(settingsFile, settings.replaceAll(directive.address!, server.url));
      const provider = variablesFor(directive.wire, server.url);
      const printed = await start({ cwd, environment: { ...environment, ...provider } });
      server.assertDone();
      return printed;
    } finally {
      if (settings !== undefined) writeFileSync(settingsFile, settings);
      await server.close();
    }
  }

  return {
    settingsFile,
    run: (program, directive) => withProvider(directive, (place) => startProgram(program, place)),
    runLines: (lines, directive) =>
      withProvider(directive, (place) => {
        const commands = commandsIn(lines);
        if (commands !== undefined) return runCommands(commands, place);
        return startProgram(["bash", "-euo", "pipefail", "-c", lines], place);
      }),
    fill: (text, { session }) => {
      if (session === undefined) return text;
      const newest = listSessions({ home })[0];
      if (newest === undefined) throw new Error(`There is no session whose id could replace ${session}.`);
      return text.replaceAll(session, newest.id);
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

function variablesFor(wire: Directive["wire"], url: string): Record<string, string> {
  if (wire === "openai") return { OPENAI_API_KEY: "key-of-the-test", OPENAI_BASE_URL: `${url}/v1` };
  return wire === "none" ? {} : { ANTHROPIC_API_KEY: "key-of-the-test", ANTHROPIC_BASE_URL: url };
}

interface Surroundings {
  readonly cwd: string;
  readonly environment: Record<string, string>;
}

/** Words that mean the same to every shell: without special characters, or in quotes. */
const WORD = /[\w./:=,@+-]+|"[^"$`\\!]*"|'[^']*'/g;
const COMMAND = new RegExp(`^retinue(?: (?:${WORD.source}))*$`);

/** Returns the words of each line, without `retinue`; undefined if a line is more than a single Retinue command. */
function commandsIn(lines: string): readonly (readonly string[])[] | undefined {
  const commands = lines.split("\n");
  if (!commands.every((line) => COMMAND.test(line))) return undefined;
  return commands.map((line) => (line.match(WORD) ?? []).slice(1).map((word) => word.replace(/^(["'])(.*)\1$/, "$2")));
}

/** Runs commands one after another, until one of them fails, in a process that has run others before. */
async function runCommands(commands: readonly (readonly string[])[], place: Surroundings): Promise<Printed> {
  let all: Printed = { code: 0, stdout: "", stderr: "" };
  for (const words of commands) {
    const { code, stdout, stderr } = await runInHost({ words, ...place });
    all = { code, stdout: all.stdout + stdout, stderr: all.stderr + stderr };
    if (code !== 0) break;
  }
  return all;
}

function startProgram(
  [program = "", ...words]: readonly string[],
  { cwd, environment }: Surroundings,
): Promise<Printed> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"], timeout: 15_000 });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

function putOnPath(bin: string): void {
  mkdirSync(bin);
  const program = join(bin, "retinue");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/cli.cjs")}" "$@"\n`);
  chmodSync(program, 0o755);
}

/** Repository that is copied to each place, because copying is faster than creating it. */
let template: string | undefined;

function makeRepository(): string {
  const cwd = mkdtempSync(join(tmpdir(), "retinue-docs-template-"));
  const git = (...words: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...words], {
      cwd,
      stdio: "ignore",
    });
  git("init", "-b", "main", "--template=");
  for (const [path, text] of Object.entries(repository)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  git("add", ...Object.keys(repository).filter((path) => path !== ".env"));
  git("commit", "-m", "A shop with a cart");
  return cwd;
}
