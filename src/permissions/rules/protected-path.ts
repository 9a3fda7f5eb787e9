import { splitPath } from "./path-pattern.ts";

/**
 * Returns the part of a relative path that makes it protected: such files are executed later or change permissions.
 * Returns undefined if no part does.
 */
export function protectedPart(path: string): string | undefined {
  const names = splitPath(path);
  const folded = names.map(foldName);
  const directory = folded.findIndex((name) => protectedDirectories.has(name));
  if (directory !== -1) return names[directory];
  for (let index = 0; index + 1 < folded.length; index += 1) {
    if (protectedPairs.has(`${folded[index]}/${folded[index + 1]}`)) return `${names[index]}/${names[index + 1]}`;
  }
  const base = folded.at(-1);
  return base !== undefined && protectedFiles.has(base) ? names.at(-1) : undefined;
}

/**
 * Normalises a name as file systems may: case, composition, invisible characters, trailing dots and spaces, streams.
 */
function foldName(name: string): string {
  const plain = name.normalize("NFC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const [first = ""] = plain.toUpperCase().toLowerCase().split(":");
  const trimmed = first.replace(/[. ]+$/, "");
  return shortNames.get(trimmed) ?? trimmed;
}

const shortNames = new Map([
  ["git~1", ".git"],
  ["claude~1", ".claude"],
  ["retinu~1", ".retinue"],
  ["agents~1", ".agents"],
]);

const protectedDirectories = new Set([
  ".git",
  ".retinue",
  // Retinue's own compiled code, in a state directory that may have any name.
  "retinue-code-cache",
  ".claude",
  ".agents",
  ".vscode",
  ".idea",
  ".husky",
  ".devcontainer",
  ".direnv",
  ".yarn",
  ".ssh",
  ".gnupg",
]);

const protectedPairs = new Set([".config/git", ".config/fish", ".config/retinue"]);

const protectedFiles = new Set([
  ".mcp.json",
  ".gitmodules",
  ".gitconfig",
  ".gitattributes",
  ".envrc",
  ".npmrc",
  ".yarnrc",
  ".yarnrc.yml",
  ".pnpmfile.cjs",
  ".pre-commit-config.yaml",
  "package.json",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".cshrc",
  ".tcshrc",
  ".login",
  ".logout",
  ".inputrc",
  ".vimrc",
  ".exrc",
  ".netrc",
  ".ripgreprc",
  ".gdbinit",
  ".lldbinit",
]);
