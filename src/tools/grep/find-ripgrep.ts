import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";

/**
 * Where ripgrep is: `RETINUE_RIPGREP`, the binary of the npm package, `rg` on the path. Undefined: nowhere.
 * Found at run time from where this file stands, so that it works from source and from a bundle alike.
 */
export function findRipgrep(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const named = environment["RETINUE_RIPGREP"];
  if (named) return isProgram(named) ? named : undefined;
  return fromPackage() ?? fromPath(environment["PATH"] ?? "");
}

const binary = process.platform === "win32" ? "rg.exe" : "rg";

function fromPackage(): string | undefined {
  try {
    // The platform's package belongs to @vscode/ripgrep, not to us, and need not be visible from here.
    const main = createRequire(import.meta.url).resolve("@vscode/ripgrep");
    const path = createRequire(main).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/${binary}`);
    return isProgram(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function fromPath(path: string): string | undefined {
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, binary))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
