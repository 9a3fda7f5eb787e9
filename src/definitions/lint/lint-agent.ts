import { estimateTokens, nearest } from "../../lib/index.ts";
import { type AgentDefinition, canonicalToolName, type Diagnostic } from "../../protocol/index.ts";
import type { Finding } from "./finding.ts";
import { lintDescription } from "./lint-description.ts";
import { lintTurns } from "./lint-turns.ts";

export interface LintRequest {
  readonly definition: AgentDefinition;
  readonly body: string;
  /** Names of every tool there is; canonical names and aliases both count. */
  readonly knownTools: Iterable<string>;
}

/** What about a definition that loads makes delegation unreliable, costly or unsafe; each with a suggestion. */
export function lintAgent({ definition, body, knownTools }: LintRequest): Diagnostic[] {
  const file = definition.file ?? `(${definition.source}) ${definition.name}`;
  return [
    ...lintDescription(definition.description),
    ...lintSize(definition, body),
    ...lintTools(definition, new Set(knownTools)),
    ...lintMode(definition),
    ...lintTurns(definition),
  ].map((finding) => ({ severity: "warning", file, line: 1, ...finding }));
}

const maxFrontmatterTokens = 200;
const maxBodyTokens = 2000;

function lintSize(definition: AgentDefinition, body: string): Finding[] {
  const { source: _source, file: _file, plugin: _plugin, ...written } = definition;
  const findings: Finding[] = [];
  const listed = estimateTokens(
    Object.entries(written)
      .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join("\n"),
  );
  if (listed > maxFrontmatterTokens)
    findings.push({
      code: "long_frontmatter",
      message: `The frontmatter has about ${listed} tokens; every session pays for it. Up to ${maxFrontmatterTokens} is usual.`,
      fix: "Shorten the description to what it does, when to use it and its limits; move examples into the body.",
    });
  const instructions = estimateTokens(body);
  if (instructions > maxBodyTokens)
    findings.push({
      code: "long_body",
      message: `The body has about ${instructions} tokens; up to ${maxBodyTokens} is usual.`,
      fix: "Keep what every run needs; move reference material into files or a skill.",
    });
  if (body.trim() === "")
    findings.push({
      code: "empty_body",
      message: "The body is empty, so the agent has no instructions of its own.",
      fix: "Say below the frontmatter who the agent is, how it works and what it hands back.",
    });
  return findings;
}

function lintTools(definition: AgentDefinition, known: ReadonlySet<string>): Finding[] {
  const findings: Finding[] = [];
  const listed = [
    ...(definition.tools ?? []),
    ...(definition.disallowedTools ?? []),
    ...(definition.requiredTools ?? []),
  ];
  for (const entry of new Set(listed)) {
    const name = entry.replace(/\(.*$/s, "").trim();
    if (name === "*" || name.startsWith("mcp__") || known.has(name) || known.has(canonicalToolName(name))) continue;
    const guess = nearest(name, known)[0];
    findings.push({
      code: "unknown_tool",
      message: `There is no tool "${name.slice(0, 60)}".`,
      fix: guess === undefined ? "Delete it, or write the name of a tool there is." : `Did you mean "${guess}"?`,
    });
  }
  if (definition.tools?.length === 0)
    findings.push({
      code: "no_tools",
      message: "The agent has no tools: it can only answer from what it is told.",
      fix: "List the tools it needs, or delete the line to inherit all.",
    });
  return findings;
}

function lintMode({ permissionMode, tools, background }: AgentDefinition): Finding[] {
  if (permissionMode === "bypassPermissions")
    return [
      {
        code: "unsafe_mode",
        message: "bypassPermissions lets the agent run everything without asking.",
        fix: "Use acceptEdits or dontAsk, and allow the commands it needs by rules.",
      },
    ];
  const canRunAll = tools === undefined || tools.includes("Bash");
  if (permissionMode === "acceptEdits" && background === true && canRunAll)
    return [
      {
        code: "unsafe_mode",
        message: "In the background with acceptEdits and an unrestricted Bash, nobody sees what is edited and run.",
        fix: "List the commands it needs, such as Bash(npm test), or let it run in a worktree (isolation: worktree).",
      },
    ];
  return [];
}
