import type { PartRequest } from "./job-request.ts";

/** What an agent is told that looks at one part of a repository. `asPart` knows it again by its first sentence. */
export function partRequest(path: string): string {
  return `Explore the directory ${JSON.stringify(path)} for a map of the repository. Medium thoroughness; stay in this directory.
Report, each with its path: what the directory is for, its directories and key files with one line each, entry points, tests, size. Say what you could not see.`;
}

const form = /^Explore the directory ("(?:[^"\\\n]|\\.)+") for a map of the repository\./m;

export function asPart(request: string): PartRequest | undefined {
  const quoted = form.exec(request)?.[1];
  if (quoted === undefined) return undefined;
  try {
    return { kind: "explore-part", path: String(JSON.parse(quoted)) };
  } catch {
    return undefined;
  }
}
