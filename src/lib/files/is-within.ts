import { sep } from "node:path";

/**
 * Returns whether an absolute path is within a directory. Compares whole components: `/a/bc` is not within `/a/b`. A
 * directory is within itself. Nothing is within "".
 */
export function isWithin(path: string, directory: string): boolean {
  if (directory === "") return false;
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}
