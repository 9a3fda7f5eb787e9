import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { seccompFilter } from "./seccomp-filter.ts";

/** Files that bubblewrap needs, in a directory that no command sees. */
export interface SandboxFiles {
  /** Returns the file that is shown in place of a hidden file: an empty file in the same format. */
  emptyFile(hidden: string): string;
  /** System call filter; undefined if there is none for this architecture. */
  readonly filter: string | undefined;
  /** False if the files were removed, for example by a program that cleans up temporary directories. */
  readonly exist: boolean;
  remove(): void;
}

export function createSandboxFiles(): SandboxFiles {
  const directory = mkdtempSync(join(tmpdir(), "retinue-sandbox-"));
  const write = (name: string, content: string | Buffer): string => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const empty = write("empty", "");
  // Some programs refuse to start if a settings file is not well-formed.
  const formats: Readonly<Record<string, string>> = {
    ".json": write("empty.json", "{}\n"),
    ".xml": write("empty.xml", "<settings/>\n"),
  };
  const program = seccompFilter();
  return {
    emptyFile: (hidden) => formats[extname(hidden)] ?? empty,
    filter: program && write("filter", program),
    get exist() {
      return existsSync(empty);
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
