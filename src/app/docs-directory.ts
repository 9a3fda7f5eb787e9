import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The documentation of this very package. The bundle, the library and the sources stand at different depths of it. */
export function docsDirectory(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, "package.json")) && directory !== dirname(directory))
    directory = dirname(directory);
  return join(directory, "docs");
}
