import {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ApiServer } from "../../src/testing/index.ts";
import { isRoot } from "../../src/testing/needs.test-support.ts";
import { needsSandbox } from "../../src/workspace/sandbox/sandbox.test-support.ts";
import { createPlace, dist, type Place, resultOf, retinue, type StartOptions, serve } from "./command-line.ts";

const NOBODY = 65_534;

interface Installation extends Place {
  readonly program: string;
  readonly server: ApiServer;
  /** Directory in the state directory that contains the compiled code. */
  readonly folder: string;
}

/** Installs the program without compiled code, as if it had been built with another version of Node. */
async function install(): Promise<Installation> {
  const place = createPlace();
  const directory = join(place.cwd, "../program");
  mkdirSync(directory);
  for (const name of ["cli.cjs", "help.cjs", "run.cjs"]) copyFileSync(join(dist, name), join(directory, name));
  return {
    ...place,
    server: await serve(() => ({ content: "Done." })),
    program: join(directory, "cli.cjs"),
    folder: join(place.home, "retinue-code-cache"),
  };
}

type More = Pick<StartOptions, "environment" | "uid">;

/** Runs one prompt, which has to succeed without any message about compiled code. */
async function run(installed: Installation, more: More = {}): Promise<void> {
  expect(await retinue(["-p", "Do it."], { ...installed, ...more })).toEqual(finished);
}

const finished = { code: 0, signal: null, stdout: "Done.\n", stderr: "" };

/** Returns what `retinue doctor` says about compiled code. */
async function doctor({ home, cwd, program }: Installation, more: More = {}): Promise<Record<string, string>> {
  const { stdout } = await retinue(["doctor", "--json"], { home, cwd, program, ...more });
  const { findings } = JSON.parse(stdout) as { findings: Record<string, string>[] };
  return findings.find(({ name }) => name === "compiled") ?? {};
}

const inUse = (file: string) => ({ name: "compiled", status: "ok", found: `${file} is in use` });

describe("compiled code", () => {
  it("ships with the program for the Node version that built it", async () => {
    const built = { ...(await install()), program: join(dist, "cli.cjs") };
    await run(built);
    expect(readdirSync(built.home)).not.toContain("retinue-code-cache");
    const shipped = `run-${process.versions.v8}-${process.arch}.cache`;
    expect(await doctor(built)).toEqual(inUse(join(dist, shipped)));
  });

  it("is written by the first run with another Node version, and used by the next run", async () => {
    const installed = await install();
    await run(installed);
    const [name = "", ...others] = readdirSync(installed.folder);
    expect(others).toEqual([]);
    const { ino } = lstatSync(join(installed.folder, name));
    expect(await doctor(installed)).toEqual(inUse(join(installed.folder, name)));
    await run(installed);
    expect(readdirSync(installed.folder)).toEqual([name]);
    expect(lstatSync(join(installed.folder, name)).ino).toBe(ino);
  });

  it("is written only by a successful run", async () => {
    const installed = await install();
    for (const words of [["--version"], ["--help"], ["config", "show"]]) {
      expect(await retinue(words, installed)).toMatchObject({ code: 0, stderr: "" });
    }
    expect(() => readdirSync(installed.home)).toThrow("ENOENT");
    const server = await serve(() => ({ content: [{ tool: "Read", input: { file_path: "a" } }] }));
    expect((await retinue(["-p", "Do it.", "--max-turns", "1"], { ...installed, server })).code).toBe(3);
    expect(await doctor(installed)).toMatchObject({ status: "ok", found: expect.stringMatching(/^no compiled code/) });
    expect(readdirSync(installed.home)).not.toContain("retinue-code-cache");
  });

  it("can be written by two first runs at once", async () => {
    const installed = await install();
    await Promise.all([run(installed), run(installed)]);
    const [name = "", ...others] = readdirSync(installed.folder);
    expect(others).toEqual([]);
    expect(await doctor(installed)).toEqual(inUse(join(installed.folder, name)));
  });

  it("is used but not written if the state directory is read-only", async () => {
    const installed = await install();
    await run(installed);
    const { home, folder } = installed;
    const [name = ""] = readdirSync(folder);
    const uid = isRoot ? NOBODY : undefined;
    if (uid !== undefined) giveAway(join(home, ".."), uid);
    chmodSync(home, 0o500);
    expect(await doctor(installed, { uid })).toEqual(inUse(join(folder, name)));
    chmodSync(home, 0o700);
    rmSync(join(folder, name));
    chmodSync(folder, 0o500);
    await run(installed, { uid });
    expect(readdirSync(folder)).toEqual([]);
    chmodSync(folder, 0o700);
  });
});

/** Makes another user the owner of a directory and of everything in it. Root itself can write everywhere. */
function giveAway(directory: string, uid: number): void {
  chownSync(directory, uid, uid);
  for (const path of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    lchownSync(join(directory, path), uid, uid);
  }
}

describe("the directory of compiled code", () => {
  /** Runs calls in a workspace that contains the state directory. */
  async function call(calls: readonly ToolCall[], words: readonly string[] = []) {
    const { cwd } = createPlace();
    const folder = join(cwd, "state/retinue-code-cache");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "a"), "old");
    writeFileSync(join(cwd, "write.sh"), "echo new > state/retinue-code-cache/a; echo new > state/settings.json\n");
    const server = await serve((_, { turn }) => ({ content: turn === 1 ? calls : "Done." }));
    const ended = await retinue(
      ["-p", "Do it.", "--permission-mode", "acceptEdits", "--output-format", "json", ...words],
      { cwd, home: join(cwd, "state"), server },
    );
    expect(readdirSync(folder)).toEqual(["a"]);
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("old");
    return resultOf(ended).permission_denials;
  }

  it("is protected from tools, whatever the name of the state directory", async () => {
    const path = "state/retinue-code-cache/a";
    const calls: ToolCall[] = [
      { tool: "Write", input: { file_path: path, content: "new" } },
      { tool: "Write", input: { file_path: `${path}.new`, content: "new" } },
      { tool: "Edit", input: { file_path: path, old_string: "old", new_string: "new" } },
      { tool: "Bash", input: { command: `echo new > ${path}` } },
      { tool: "Bash", input: { command: `cp write.sh ${path}` } },
    ];
    // Without reading it first, a file can't be changed, and no approval is needed for a change that can't succeed.
    const read = { tool: "Read", input: { file_path: path } };
    const denials = await call([read, ...calls], ["--allowed-tools", "Edit(**), Bash(echo:*), Bash(cp:*)"]);
    expect(denials.map(({ tool_name: tool }) => tool)).toEqual(calls.map(({ tool }) => tool));
  });

  it("is read-only for commands in the sandbox", needsSandbox, async () => {
    const calls = [{ tool: "Bash", input: { command: "sh write.sh" } }];
    expect(await call(calls, ["--allowed-tools", "Bash(sh write.sh)"])).toEqual([]);
  });
});

interface ToolCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, string>>;
}
