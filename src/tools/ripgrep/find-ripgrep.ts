import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";

export type RipgrepLocation =
  | { readonly program: string }
  /** Explains why ripgrep was not found, and what to do. */
  | { readonly missing: string; readonly fix: string };

/**
 * Finds ripgrep: the path in `RETINUE_RIPGREP`, the binary from the npm package, or `rg` on the PATH. The lookup
 * happens at run time and starts from this file, so that it works both from source and from a bundle.
 */
export function findRipgrep(
  environment: Readonly<Record<string, string | undefined>>,
  { platform = process.platform, arch = process.arch }: { readonly platform?: string; readonly arch?: string } = {},
): RipgrepLocation {
  const named = environment["RETINUE_RIPGREP"];
  if (named) {
    if (isProgram(named)) return { program: named };
    const missing = `RETINUE_RIPGREP is set to ${named}, which is not an executable file`;
    return { missing, fix: "Correct or unset RETINUE_RIPGREP." };
  }
  const binary = platform === "win32" ? "rg.exe" : "rg";
  const platformPackage = `@vscode/ripgrep-${platform}-${arch}`;
  const program = findInPackage(`${platformPackage}/bin/${binary}`) ?? findOnPath(environment["PATH"] ?? "", binary);
  if (program !== undefined) return { program };
  return {
    missing: `the npm package ${platformPackage}, which contains the ripgrep binary, is not installed`,
    fix: "Reinstall Retinue with npm, without --omit=optional. Or install ripgrep, and set RETINUE_RIPGREP to its path if `rg` is not on the PATH.",
  };
}

function findInPackage(file: string): string | undefined {
  try {
    // The package for the platform is a dependency of @vscode/ripgrep and may not be visible from here.
    const main = createRequire(import.meta.filename).resolve("@vscode/ripgrep");
    const path = createRequire(main).resolve(file);
    return isProgram(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function findOnPath(path: string, binary: string): string | undefined {
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
