import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isRoot, needs } from "../testing/needs.test-support.ts";

const NOBODY = 65_534;

const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-code-cache-")));
const program = join(root, "load-bundle.cjs");
beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, "load-bundle.test-support.ts")];
  await build({ entryPoints, outfile: program, bundle: true, platform: "node", format: "cjs" });
});
afterAll(() => rmSync(root, { recursive: true }));

interface Place {
  readonly bundle: string;
  readonly state: string;
  readonly folder: string;
}

/** Creates a bundle without compiled code, and an empty state directory. */
function createPlace(): Place {
  const directory = mkdtempSync(join(root, "place-"));
  const bundle = join(directory, "run.cjs");
  const state = join(directory, "state");
  mkdirSync(state);
  writeFileSync(bundle, "(function (exports) { function answer() { return 42; } exports.answer = answer(); })\n");
  return { bundle, state, folder: join(state, "retinue-code-cache") };
}

interface Loaded {
  readonly file?: string;
  readonly target?: string;
  readonly problem?: { readonly found: string };
  readonly exports: { readonly answer: number };
}

interface LoadOptions {
  readonly command?: "keep" | "keep-with-flag";
  readonly flags?: readonly string[];
}

/** Loads a bundle in a separate process, because V8 considers compiled code only once for each source. */
async function load({ bundle, state }: Place, { command, flags = [] }: LoadOptions = {}): Promise<Loaded> {
  const words = [...flags, program, bundle, state, ...(command ? [command] : [])];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Loaded;
}

/** Compiled code written by a process. The code does not depend on where it is stored. */
let written: Promise<{ readonly name: string; readonly code: Buffer }> | undefined;

/** Puts compiled code into the state directory, as the first process does, and returns its path. */
async function keepCode(place: Place): Promise<string> {
  written ??= writeCode();
  const { name, code } = await written;
  mkdirSync(place.folder, { mode: 0o700 });
  writeFileSync(join(place.folder, name), code, { mode: 0o600 });
  return join(place.folder, name);
}

async function writeCode() {
  const { target = "" } = await load(createPlace(), { command: "keep" });
  return { name: basename(target), code: readFileSync(target) };
}

/** Changes compiled code and updates its checksum. */
function changeCode(file: string, change: (code: Buffer) => Buffer): void {
  const code = change(readFileSync(file).subarray(0, -4));
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(code));
  writeFileSync(file, Buffer.concat([code, checksum]));
}

/** Changes the word in which V8 stores its version. */
function asAnotherVersion(file: string): void {
  changeCode(file, (code) => {
    code.writeUInt32LE((code.readUInt32LE(4) ^ 1) >>> 0, 4);
    return code;
  });
}

function moveBehindLink(path: string): void {
  renameSync(path, `${path}-elsewhere`);
  symlinkSync(`${path}-elsewhere`, path);
}

const shippedFile = ({ bundle }: Place) => bundle.replace(".cjs", `-${process.versions.v8}-${process.arch}.cache`);

describe("compiled code", () => {
  it("is written so that only its owner can read it, and is then used", async () => {
    const place = createPlace();
    const { target: file = "" } = await load(place, { command: "keep" });
    expect(readdirSync(place.folder)).toEqual([basename(file)]);
    expect(lstatSync(place.folder).mode & 0o777).toBe(0o700);
    expect(lstatSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "latin1")).not.toContain(root);
    const { ino } = lstatSync(file);
    expect(await load(place, { command: "keep" })).toMatchObject({ file });
    expect(lstatSync(file).ino).toBe(ino);
  });

  it("next to the bundle takes precedence over the state directory, unless it is for another V8 version", async () => {
    const place = createPlace();
    const file = await keepCode(place);
    const shipped = shippedFile(place);
    copyFileSync(file, shipped);
    expect(await load(place)).toMatchObject({ file: shipped });
    asAnotherVersion(shipped);
    expect(await load(place)).toMatchObject({ file });
    rmSync(file);
    expect(await load(place, { command: "keep" })).toMatchObject({ target: file });
    expect(await load(place)).toMatchObject({ file });
  });

  it("is stored separately for each set of V8 flags", async () => {
    const place = createPlace();
    const file = await keepCode(place);
    copyFileSync(file, shippedFile(place));
    const flags = ["--stack-size=900"];
    const { target } = await load(place, { command: "keep", flags });
    expect(target).not.toBe(file);
    expect(await load(place, { flags })).toMatchObject({ file: target });
  });

  it("is not written if a V8 flag was set after the start", async () => {
    const place = createPlace();
    await load(place, { command: "keep-with-flag" });
    expect(readdirSync(place.folder)).toEqual([]);
  });

  it("is not used for another version of the bundle", async () => {
    const place = createPlace();
    await keepCode(place);
    // V8 itself would use the old code, because it compares only the length of the source.
    writeFileSync(place.bundle, readFileSync(place.bundle, "utf8").replace("42", "43"));
    expect(await load(place)).toMatchObject({ target: expect.any(String), exports: { answer: 43 } });
  });

  it("is kept in at most four files, the newest ones", async () => {
    const place = createPlace();
    mkdirSync(place.folder, { mode: 0o700 });
    for (const [index, name] of ["a", "b", "c", "d", "e"].entries()) {
      writeFileSync(join(place.folder, name), "");
      utimesSync(join(place.folder, name), index, index);
    }
    const { target = "" } = await load(place, { command: "keep" });
    expect(readdirSync(place.folder).sort()).toEqual(["c", "d", "e", basename(target)]);
  });

  it("is not used from a damaged or unsafe file, and is replaced", async () => {
    const place = createPlace();
    const file = await keepCode(place);
    const good = readFileSync(file);
    const spoils: readonly ((file: string) => void)[] = [
      asAnotherVersion,
      () =>
        writeFileSync(
          file,
          good.map((byte, index) => (index % 100 === 50 ? ~byte : byte)),
        ),
      () => truncateSync(file, 200),
      () => truncateSync(file),
      () => writeFileSync(file, "x".repeat(1000)),
      () => chmodSync(file, 0o620),
      () => chmodSync(file, 0o602),
      moveBehindLink,
    ];
    for (const spoil of spoils) {
      rmSync(file);
      writeFileSync(file, good, { mode: 0o600 });
      spoil(file);
      expect(await load(place), String(spoil)).toMatchObject({ target: file, exports: { answer: 42 } });
    }
    await load(place, { command: "keep" });
    expect(await load(place)).toMatchObject({ file });
  });

  it.each<[string, (place: Place) => void, string]>([
    ["a directory that the group can write to", ({ folder }) => chmodSync(folder, 0o770), "other users"],
    ["a directory that others can write to", ({ folder }) => chmodSync(folder, 0o702), "other users"],
    ["a state directory that others can write to", ({ state }) => chmodSync(state, 0o777), "other users"],
    ["a directory behind a symlink", ({ folder }) => moveBehindLink(folder), "not a directory"],
  ])("is neither used nor written in %s", async (_, spoil, found) => {
    const place = createPlace();
    const file = await keepCode(place);
    const { ino } = statSync(file);
    spoil(place);
    const problem = { found: expect.stringContaining(found) };
    expect(await load(place, { command: "keep" })).toMatchObject({ problem, exports: { answer: 42 } });
    expect(statSync(file).ino).toBe(ino);
  });

  it("is neither used nor written if the state directory is a relative path", async () => {
    const place = createPlace();
    await keepCode(place);
    const loaded = await load({ ...place, state: relative(process.cwd(), place.state) });
    expect(loaded).toMatchObject({ problem: { found: expect.stringContaining("relative") } });
  });

  it("is not used if another user owns it", needs("root", isRoot), async () => {
    const place = createPlace();
    const file = await keepCode(place);
    chownSync(file, NOBODY, NOBODY);
    expect(await load(place)).toMatchObject({ target: file });
    chownSync(file, 0, 0);
    for (const directory of [place.folder, place.state]) {
      chownSync(directory, NOBODY, NOBODY);
      expect(await load(place)).toMatchObject({ problem: { found: expect.stringContaining("another user") } });
      chownSync(directory, 0, 0);
    }
    expect(await load(place)).toMatchObject({ file });
  });

  it("can be written by several processes at once", async () => {
    const place = createPlace();
    await Promise.all(Array.from({ length: 6 }, () => load(place, { command: "keep" })));
    const { file = "" } = await load(place);
    expect(readdirSync(place.folder)).toEqual([basename(file)]);
  });

  it("is not written if there is no state directory", async () => {
    const place = createPlace();
    rmSync(place.state, { recursive: true });
    await load(place, { command: "keep" });
    expect(() => readdirSync(place.state)).toThrow("ENOENT");
  });
});
