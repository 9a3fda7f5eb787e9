import { createHash, randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, isAbsolute, join } from "node:path";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** Compiled code for this process's bundle. docs/decisions/0019 explains why and how it is stored. */
export interface CodeCache {
  /** File that the compiled code was read from; undefined if V8 compiled the source. */
  readonly file?: string | undefined;
  /** File that `keep` writes; undefined if another file is in use or there is a problem. */
  readonly target?: string | undefined;
  /** Reason why compiled code is neither used nor written. */
  readonly problem?: CodeCacheProblem | undefined;
  /** Saves the functions that V8 has compiled so far, for use at the next start. Never throws. */
  keep(): void;
}

interface CodeCacheProblem {
  readonly found: string;
  readonly fix: string;
}

/**
 * Loads a CommonJS bundle. Its compiled code is read from a file next to the bundle, or in the state directory if one
 * is given.
 */
export function loadCompiled(
  bundle: string,
  state: string | undefined,
): { readonly exports: unknown; readonly codeCache: CodeCache } {
  const { script, found } = compile(bundle, state);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, dirname(bundle));
  return { exports: module.exports, codeCache: { ...found, keep: () => keepCode(script, { ...found, state }) } };
}

/**
 * Compiles a bundle. This is a function of its own because the files' contents are megabytes, which must be garbage
 * before the bundle runs.
 */
function compile(
  bundle: string,
  state: string | undefined,
): { readonly script: Script; readonly found: Omit<CodeCache, "keep"> } {
  // The bundle contains only ASCII characters, which need no decoding, and is wrapped in a function.
  const source = readFileSync(bundle, "latin1");
  const { code, ...found } = findCode(bundle, { source, state });
  // Compiled code contains the file name for stack traces, which must not be a path on the machine that compiled the
  // code.
  const script = new Script(source, { filename: `retinue/dist/${basename(bundle)}`, cachedData: code });
  return { script, found: script.cachedDataRejected ? { problem: rejected(found.file) } : found };
}

function rejected(file = ""): CodeCacheProblem {
  return {
    found: `V8 rejects ${file}`,
    fix: "Delete the file. The next run writes a new one to the state directory.",
  };
}

function findCode(
  bundle: string,
  { source, state }: { readonly source: string; readonly state: string | undefined },
): Omit<CodeCache, "keep"> & { readonly code?: Uint8Array } {
  const origin = originOf(new Script("").createCachedData());
  const version = `${process.versions.v8}-${process.arch}`;
  const shipped = bundle.replace(/\.cjs$/, `-${version}.cache`);
  const shippedCode = readCode(shipped, { origin, isShipped: true });
  if (shippedCode) return { code: shippedCode, file: shipped };

  if (state === undefined) return {};
  const folder = join(state, "retinue-code-cache");
  const problem = whyUntrusted(state, folder);
  if (problem !== undefined) return { problem };
  // The file name contains a hash of the source, because V8 compares only the length of the source.
  const hash = createHash("sha256").update(source, "latin1").digest("hex").slice(0, 32);
  const target = join(folder, `${basename(bundle, ".cjs")}-${hash}-${version}-${origin}.cache`);
  const code = readCode(target, { origin, isShipped: false });
  return code ? { code, file: target } : { target };
}

/**
 * Returns the version and the flags of the V8 that compiled the code, in hexadecimal. They are the second and fourth
 * words of the code. V8 compares them as well, but if they differ, it compiles the whole source and accepts no other
 * compiled code for it in this process.
 */
function originOf(code: Buffer): string {
  return code.toString("hex", 4, 8) + code.toString("hex", 12, 16);
}

const CHECKSUM_BYTES = 4;

interface Expected {
  readonly origin: string;
  /** True if the file is part of the program, which is trusted as a whole. */
  readonly isShipped: boolean;
}

/**
 * Reads compiled code. Returns undefined if there is no file, or if it can't be used. The checksum is compared because
 * V8 crashes on damaged code instead of rejecting it.
 */
function readCode(path: string, { origin, isShipped }: Expected): Uint8Array | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, isShipped ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NOFOLLOW);
    if (!isShipped && !isOwn(fstatSync(file))) return undefined;
    const content = readFileSync(file);
    const code = content.subarray(0, -CHECKSUM_BYTES);
    return originOf(code) === origin && crc32(code) === content.readUInt32LE(code.length) ? code : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function keepCode(
  script: Script,
  { target, state }: Pick<CodeCache, "target"> & { readonly state: string | undefined },
): void {
  if (target === undefined || state === undefined) return;
  try {
    writeCode(script, { target, state });
  } catch {
    // The next start compiles the source again.
  }
}

function writeCode(script: Script, { target, state }: { readonly target: string; readonly state: string }): void {
  const folder = dirname(target);
  makeFolder(folder);
  if (whyUntrusted(state, folder) !== undefined) return;
  const code = script.createCachedData();
  // A run with many agents changes a V8 flag. The next start does not set that flag and could not use this code.
  if (!target.endsWith(`-${originOf(code)}.cache`)) return;
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32LE(crc32(code));
  const temporary = `${target}.${randomUUID()}`;
  try {
    writeFileSync(temporary, Buffer.concat([code, checksum]), { flag: "wx", mode: 0o600, flush: true });
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
  removeOldFiles(folder);
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // Usually, the directory already exists. If it does not, writing the file fails too, and that error is handled.
  }
}

/** Maximum number of files. Several are kept because different versions of Node and Retinue may be used alternately. */
const MAX_FILES = 4;

function removeOldFiles(folder: string): void {
  const files = readdirSync(folder).map((name) => {
    const path = join(folder, name);
    return { path, writtenAt: lstatSync(path).mtimeMs };
  });
  files.sort((left, right) => right.writtenAt - left.writtenAt);
  for (const { path } of files.slice(MAX_FILES)) rmSync(path, { force: true });
}

/**
 * Returns why a directory is not trusted. V8 executes compiled code without checks, so other users must not be able to
 * write to the directory.
 */
function whyUntrusted(state: string, folder: string): CodeCacheProblem | undefined {
  if (!isAbsolute(state)) {
    return { found: `the state directory ${state} is a relative path`, fix: "Set RETINUE_HOME to an absolute path." };
  }
  const fix = "Make it a directory that belongs to you and that only you can write to.";
  try {
    const directories = [
      { path: state, stat: statSync(state, { throwIfNoEntry: false }) },
      { path: folder, stat: lstatSync(folder, { throwIfNoEntry: false }) },
    ];
    for (const { path, stat } of directories) {
      if (stat === undefined) continue;
      if (!stat.isDirectory()) return { found: `${path} is not a directory`, fix };
      if (!isOwn(stat)) return { found: `${path} belongs to another user, or other users can write to it`, fix };
    }
    return undefined;
  } catch {
    return { found: `${folder} can't be accessed`, fix };
  }
}

/**
 * Returns whether only this user can write to a file or directory. Always returns false on systems without user ids,
 * where file modes do not show who can write.
 */
function isOwn({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0;
}

const WRITABLE_BY_OTHERS = 0o022;
