import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createId, startProcess, stripControls } from "../lib/index.ts";
import { scrubEnvironment } from "../workspace/index.ts";

export type Clone =
  | { readonly ok: true; readonly directory: string; remove(): void }
  | { readonly ok: false; readonly message: string };

/** `https://`, `ssh://`, `file:///` or `user@host:path`; anything else is a path. */
export function isRepositoryAddress(source: string): boolean {
  return /^[a-z][a-z0-9+.-]*:(:|\/\/)/i.test(source) || isScp(source);
}

/** The newest state of a repository in a temporary directory, with none of the programs a repository could ask for. */
export async function cloneRepository(
  address: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Clone> {
  if (!isAllowed(address)) {
    const message = `${stripControls(address)} is no address that is cloned. Use https://, ssh:// or file:///.`;
    return { ok: false, message };
  }
  const directory = mkdtempSync(join(tmpdir(), "retinue-plugin-"));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  const options = ["--depth", "1", "--no-tags", "--no-recurse-submodules", "--template=", "--quiet"];
  const git = startProcess({
    command: "git",
    args: [...withoutPrograms, "clone", ...options, "--", address, join(directory, "plugin")],
    cwd: directory,
    env: { ...scrubEnvironment(environment), GIT_ALLOW_PROTOCOL: "file:https:ssh", GIT_LFS_SKIP_SMUDGE: "1" },
    tag: `clone-${createId()}`,
  });
  git.stdout.resume();
  let told = "";
  for await (const text of git.stderr) told = (told + String(text)).slice(-2_000);
  const { code, failure } = await git.closed;
  if (code === 0) return { ok: true, directory: join(directory, "plugin"), remove };
  remove();
  const words = stripControls(failure ?? told.trim()).replace(/\s+/g, " ");
  return { ok: false, message: `git could not clone ${stripControls(address)}: ${words}` };
}

const withoutPrograms = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "filter.lfs.required=false"].flatMap(
  (setting) => ["-c", setting],
);

// A host that begins with a dash would be an option of ssh.
function isAllowed(address: string): boolean {
  if (/[\s\0]/.test(address)) return false;
  return (
    isScp(address) ||
    /^(https:\/\/|ssh:\/\/)(\w[\w.%-]*(:[^@/]*)?@)?[\w[][^/]*\/./i.test(address) ||
    /^file:\/\/\/./i.test(address)
  );
}

function isScp(address: string): boolean {
  return /^[\w.]+@\w[\w.-]*:[^:]/.test(address);
}
