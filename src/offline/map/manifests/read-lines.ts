import type { Page } from "../../jobs/results.ts";
import { baseName } from "../languages.ts";
import { emptyManifest, type Fact, type Manifest, type ManifestSource } from "./manifest.ts";

export function readGoMod({ path, page }: ManifestSource): Manifest {
  const title = page.lines.map(({ text }) => /^module\s+(\S+)/.exec(text)?.[1]).find((name) => name !== undefined);
  const commands = ["go build ./...", "go test ./..."].map((what) => ({ where: path, what, detail: "" }));
  return { ...emptyManifest(path), title, commands };
}

export function readGoWork({ path, page }: ManifestSource): Manifest {
  const members = page.lines.flatMap(({ text }) => /^(?:use)?\s+(\.\/?\S*)\s*$/.exec(text)?.[1] ?? []);
  return { ...emptyManifest(path), members };
}

export function readPnpmWorkspace({ path, page }: ManifestSource): Manifest {
  const from = page.lines.findIndex(({ text }) => /^packages\s*:/.test(text)) + 1;
  const rest = page.lines.slice(from);
  const end = rest.findIndex(({ text }) => /^[^\s#-]/.test(text));
  const items = from === 0 ? [] : rest.slice(0, end < 0 ? rest.length : end);
  const members = items.flatMap(({ text }) => /^\s*-\s+(["']?)(.+?)\1\s*(?:#.*)?$/.exec(text)?.[2] ?? []);
  return { ...emptyManifest(path), members };
}

export function readGradle({ path, beside }: ManifestSource): Manifest {
  const commands = [{ where: path, what: `${beside.has("gradlew") ? "./gradlew" : "gradle"} build`, detail: "" }];
  return { ...emptyManifest(path), commands };
}

/** Reads a makefile, or a justfile, which has the same form. */
export function readMakefile({ path, page }: ManifestSource): Manifest {
  const program = baseName(path) === "justfile" ? "just" : "make";
  const commands = page.lines.flatMap(({ number, text }): Fact[] => {
    const [, target, rest = ""] = /^([A-Za-z][\w-]*)\s*:(?![:=])(.*)$/.exec(text) ?? [];
    if (target === undefined) return [];
    const [needs = "", comment] = rest.split(/(?<!\s)\s*##\s*/);
    const detail = comment ?? (recipeAfter(page, number) || needs.replace(/#.*/, "").trim());
    return [{ where: `${path}:${number}`, what: `${program} ${target}`, detail }];
  });
  return { ...emptyManifest(path), commands };
}

function recipeAfter({ lines }: Page, number: number): string {
  const next = lines.find((line) => line.number === number + 1)?.text ?? "";
  return /^\s+\S/.test(next) ? next.trim().replace(/^[@-]+/, "") : "";
}

export function readDockerfile({ path, page }: ManifestSource): Manifest {
  const entries = page.lines.flatMap(({ number, text }): Fact[] => {
    const detail = /^(?:ENTRYPOINT|CMD)\s+(.+)/.exec(text)?.[1];
    return detail === undefined ? [] : [{ where: `${path}:${number}`, what: "container runs", detail }];
  });
  return { ...emptyManifest(path), entries: entries.slice(-1) };
}
