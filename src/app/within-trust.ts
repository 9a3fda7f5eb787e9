import { realpathSync } from "node:fs";
import { sep } from "node:path";
import type { Snapshot } from "../definitions/index.ts";
import type { TrustedLevels } from "./trusted-levels.ts";

/** A snapshot without what the project has above the trusted directories, wherever links lead. */
export function withinTrust(
  snapshot: Snapshot,
  { root, trustedRoot, off }: Pick<TrustedLevels, "root" | "trustedRoot"> & { readonly off: readonly string[] },
): Snapshot {
  if (trustedRoot === undefined || trustedRoot === root) return snapshot;
  const counts = (file: string): boolean => {
    const real = realPath(file);
    return !isWithin(real, root) || isWithin(real, trustedRoot);
  };
  const ofProject = ({ definition }: { definition: { source: string; file?: string } }): boolean =>
    definition.source !== "project" || definition.file === undefined || counts(definition.file);
  return {
    ...snapshot,
    agents: snapshot.agents.filter((agent) => agent.place.form === "settings" || ofProject(agent)),
    skills: snapshot.skills.filter(ofProject),
    contextFiles: snapshot.contextFiles.filter(({ file, source }) => source !== "project" || counts(file)),
    diagnostics: snapshot.diagnostics.filter(({ file }) => !file.startsWith(root + sep) || counts(file)),
    off: [...snapshot.off, ...off],
  };
}

/** By component. */
function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
