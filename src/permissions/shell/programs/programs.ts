import { builtins } from "./builtins.ts";
import { fileTools } from "./file-tools.ts";
import { git } from "./git.ts";
import { languages, versionOptions } from "./languages.ts";
import type { ProgramSpec } from "./model.ts";
import { systemTools } from "./system-tools.ts";
import { textTools } from "./text-tools.ts";
import { wrappers } from "./wrappers.ts";

/** Every program whose arguments are known, by its name. */
export const programs: ReadonlyMap<string, ProgramSpec> = new Map<string, ProgramSpec>([
  ...textTools,
  ...fileTools,
  ...systemTools,
  ...languages,
  ...wrappers,
  ...builtins,
  ["git", git],
]);

/** Programs that only print their version with one of these options as the only argument. */
export const versionPrograms: ReadonlyMap<string, readonly string[]> = new Map(versionOptions);
