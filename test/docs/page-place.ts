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
  /** Runs a JavaScript file as a reader of the page would, but in a process that has run others before. */
  runProgram(file: string, directive: Directive): Promise<Printed>;
  /** Runs the lines of a shell block. Starts a shell only for lines that are more than a Retinue command. */
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
    const server = await startFromFile(join(import.meta.dirname, "answers", `${directive.api}.json`), {
      thinks: false,
    });
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
    runProgram: (program, directive) => withProvider(directive, (place) => runInHost({ program, ...place })),
    runLines: (lines, directive) => withProvider(directive, (place) => runParts(partsOf(lines), place)),
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
  if (wire === "gemini") return { GEMINI_API_KEY: "key-of-the-test", GOOGLE_GEMINI_BASE_URL: url };
  return wire === "none" ? {} : { ANTHROPIC_API_KEY: "key-of-the-test", ANTHROPIC_BASE_URL: url };
}

interface Surroundings {
  readonly cwd: string;
  readonly environment: Record<string, string>;
}

/** Words that mean the same to every shell: without special characters, or in quotes. */
const WORD = /[\w./:=,@+-]+|"[^"$`\\!]*"|'[^']*'/g;
const COMMAND = new RegExp(`^retinue(?: (?:${WORD.source}))*$`);

/** A single Retinue command, or lines for a shell. */
type Part = { readonly words: readonly string[] } | { readonly lines: string };

/** Matches lines that affect the lines below them: variables, functions, processes in the background. */
const SHELL_STATE = /^(?:export|umask|cd|wait)\b|^\w+=|\(\) \{|[&|\\]$/m;

/** Separates the Retinue commands at the beginning and at the end of a block from the lines between them. */
function partsOf(block: string): readonly Part[] {
  const lines = block.split("\n");
  const isCommand = (line: string): boolean => COMMAND.test(line);
  const first = lines.findIndex((line) => !isCommand(line));
  if (first === -1) return lines.map(commandIn);
  const end = lines.findLastIndex((line) => !isCommand(line)) + 1;
  const between = lines.slice(first, end).join("\n");
  if (SHELL_STATE.test(between)) return [{ lines: block }];
  return [...lines.slice(0, first).map(commandIn), { lines: between }, ...lines.slice(end).map(commandIn)];
}

function commandIn(line: string): Part {
  return { words: (line.match(WORD) ?? []).slice(1).map((word) => word.replace(/^(["'])(.*)\1$/, "$2")) };
}

/** Runs the parts one after another, until one of them fails. Commands run in a process that has run others before. */
async function runParts(parts: readonly Part[], place: Surroundings): Promise<Printed> {
  let all: Printed = { code: 0, stdout: "", stderr: "" };
  for (const part of parts) {
    const { code, stdout, stderr } = await ("words" in part
      ? runInHost({ ...part, ...place })
      : startProgram(["bash", "-euo", "pipefail", "-c", part.lines], place));
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
