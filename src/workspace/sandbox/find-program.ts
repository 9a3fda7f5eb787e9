import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** Where systems keep their programs. PATH does not count: it may lead into a workspace. */
const directories = ["/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin"];

export function findProgram(name: string): string | undefined {
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
