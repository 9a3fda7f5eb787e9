import { baseName } from "../languages.ts";
import { emptyManifest, type Manifest, type ManifestSource } from "./manifest.ts";
import { readComposer, readDeno, readPackageJson } from "./read-json.ts";
import { readDockerfile, readGoMod, readGoWork, readGradle, readMakefile, readPnpmWorkspace } from "./read-lines.ts";
import { readPom } from "./read-pom.ts";
import { readCargo, readPyproject, readSetup } from "./read-toml.ts";

const readers: Readonly<Record<string, (source: ManifestSource) => Manifest>> = {
  "package.json": readPackageJson,
  "pyproject.toml": readPyproject,
  "Cargo.toml": readCargo,
  "go.mod": readGoMod,
  "pom.xml": readPom,
  "composer.json": readComposer,
  "build.gradle.kts": readGradle,
  "build.gradle": readGradle,
  "setup.cfg": readSetup,
  "setup.py": readSetup,
  "deno.json": readDeno,
  "go.work": readGoWork,
  "pnpm-workspace.yaml": readPnpmWorkspace,
  Makefile: readMakefile,
  justfile: readMakefile,
  Dockerfile: readDockerfile,
};

/** Names of manifests, most useful first. */
export const manifestNames: readonly string[] = Object.keys(readers);

/** Names of manifests that make a directory a package. */
export const packageManifests: readonly string[] = manifestNames.slice(0, 6);

export function readManifest(source: ManifestSource): Manifest {
  return readers[baseName(source.path)]?.(source) ?? emptyManifest(source.path);
}
