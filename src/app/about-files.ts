import type { Diagnostic } from "../protocol/index.ts";
import type { AgentCatalog } from "./agent-catalog.ts";

/** What is wrong with context files and what they import; also with one that could not be read at all. */
export function aboutContext({ diagnostics }: AgentCatalog): readonly string[] {
  return diagnostics.filter(({ code }) => /^(context|import)_/.test(code)).map(described);
}

/** Why an agent is not there that somebody wrote. A text beside the agents is none. */
export function aboutAgents({ diagnostics }: AgentCatalog): readonly string[] {
  const failed = diagnostics.filter(
    ({ file, code, severity }) => severity === "error" && code !== "no_frontmatter" && isAgentFile(file),
  );
  const files = [...new Set(failed.map(({ file }) => file))];
  if (files.length <= mostTold) return failed.map(described);
  const first = files.slice(0, mostTold).join(", ");
  const more = files.length - mostTold;
  return [`${files.length} files of agents do not load: ${first} and ${more} more. "retinue agents check" says why.`];
}

const mostTold = 3;

function isAgentFile(file: string): boolean {
  return /[/\\]agents[/\\].*\.md$/i.test(file) && !/[/\\]skill\.md$/i.test(file);
}

/** Why a skill is not there that somebody wrote. */
export function aboutSkills({ diagnostics }: AgentCatalog): readonly string[] {
  const isAbout = (file: string) => /(^|\/)skill\.md$|\/\.(agents|claude)\/skills(\/|$)/i.test(file);
  return diagnostics.filter(({ file, severity }) => severity !== "notice" && isAbout(file)).map(described);
}

/** What is wrong with a file; what is only good to know stays with `retinue agents check`. */
export function aboutFile({ diagnostics }: AgentCatalog, wanted: string | undefined): readonly string[] {
  return diagnostics.filter(({ file, severity }) => severity !== "notice" && file === wanted).map(described);
}

export function described({ file, line, message, fix }: Diagnostic): string {
  return `${file}:${line}: ${message}${fix === undefined ? "" : ` ${fix}`}`;
}
