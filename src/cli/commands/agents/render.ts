import type { AgentDetails, AgentList } from "../../../app/index.ts";
import { plural, stripControls } from "../../../lib/index.ts";
import type { Diagnostic } from "../../../protocol/index.ts";
import { flatten, renderDiagnostics } from "../diagnostics.ts";
import { renderTable } from "../listing.ts";

/** Renders everything that is known about one agent. */
export function renderAgent(details: AgentDetails): string {
  const { definition, plugin, overrides, tokens, bodyCharacters, diagnostics } = details;
  const { name, description, source, file, tools: _tools, disallowedTools: _disallowed, ...fields } = definition;
  const rows: [string, string][] = [
    ["source", plugin === null ? source : `${source} ${plugin}`],
    ["file", file ?? "built in"],
    ["model", details.model ?? "inherit (same as the caller)"],
    ["tools", toolsOf(details)],
    ...Object.entries(fields)
      .filter(([key]) => key !== "model" && key !== "plugin")
      .map(([key, value]): [string, string] => [key, shown(value)]),
    ["prompt", plural(bodyCharacters, "character")],
    ["listed", details.denied === null ? `yes, with ${plural(tokens, "token")}` : `no. ${details.denied}`],
    ...overrides.map((loser): [string, string] => [
      "instead of",
      `${loser.file ?? `the ${loser.source} agent`}. ${loser.reason}`,
    ]),
  ];
  const width = Math.max(...rows.map(([key]) => key.length));
  const lines = rows.map(([key, value]) => `  ${key.padEnd(width)}  ${flatten(value)}`);
  return `${flatten(name)}\n${flatten(description)}\n\n${lines.join("\n")}\n${diagnostics.length > 0 ? "\n" : ""}${renderDiagnostics(diagnostics)}`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isList ? value.join(", ") : JSON.stringify(value);
}

function toolsOf({ tools, resolvedTools, disallowedTools, withoutTools }: AgentDetails): string {
  const withheld =
    resolvedTools === null ? [...withoutTools, ...disallowedTools.filter(hasSpecifier)] : disallowedTools;
  const without = withheld.length === 0 ? "" : `, without ${withheld.join(", ")}`;
  if (resolvedTools === null) return `every tool${without}`;
  const resolved = resolvedTools.length === 0 ? "none" : resolvedTools.join(", ");
  const written = tools?.join(", ");
  return written === undefined || written === resolved
    ? `${resolved}${without}`
    : `${resolved}, written as ${written || "an empty list"}${without}`;
}

function hasSpecifier(tool: string): boolean {
  return tool.includes("(");
}

/** Renders a table of all agents with notes. Problems in `checked` directories are only counted. */
export function renderList(list: AgentList, checked: readonly string[]): string {
  const { agents: rows, switchedOff, tokens } = list;
  const head = ["AGENT", "SOURCE", "MODEL", "TOKENS", "TOOLS", "DESCRIPTION"];
  const cells = rows.map(({ name, source, model, tokens: cost, resolvedTools, withoutTools, description }) => [
    name,
    source,
    model ?? "inherit",
    String(cost),
    resolvedTools === null ? allBut(withoutTools) : shortList(resolvedTools),
    description,
  ]);
  const overrides = rows.flatMap(({ name, source, overrides: losers }) =>
    losers.map(
      (loser) => `${name} (${source}) overrides ${loser.file ?? `the ${loser.source} agent`}: ${loser.reason}`,
    ),
  );
  const notes = [
    `${plural(rows.length, "agent")}. A model that can delegate gets a list of them, which takes up ${plural(tokens, "token")}.`,
    ...overrides,
    ...rows
      .filter(({ hidden }) => hidden)
      .map(({ name }) => `${name} is hidden: it is not in that list, but can be used by name.`),
    ...rows.flatMap(({ name, denied }) => (denied === null ? [] : [`${name} can't be used: ${denied}`])),
    ...switchedOff.map(({ name, reason }) => `${name} is disabled: ${reason}`),
    ...switchedOffFiles(list),
  ].map((note) => `${stripControls(note)}\n`);
  const table = renderTable([head, ...cells], process.stdout.columns || 0);
  return `${table}\n${notes.join("")}${renderProblems(list.diagnostics, checked)}`;
}

/**
 * Renders problems that `agents check` does not find: those that concern several files, and those in other directories.
 */
function renderProblems(diagnostics: readonly Diagnostic[], checked: readonly string[]): string {
  const isFoundByCheck = ({ file, code }: Diagnostic): boolean =>
    code !== "no_frontmatter" &&
    !crossFileCodes.has(code) &&
    checked.some((directory) => file.startsWith(`${directory}/`));
  const isShown = (each: Diagnostic) => each.severity !== "notice" || each.code === "hidden_by_directory";
  const others = diagnostics.filter((each) => isShown(each) && !isFoundByCheck(each));
  const counted = diagnostics.filter(isFoundByCheck);
  const counts = (["error", "warning", "notice"] as const)
    .map((severity) => [severity, counted.filter((each) => each.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, severity));
  const more =
    others.length > MAX_PROBLEMS ? `And ${others.length - MAX_PROBLEMS} more. To see them all, add --json.\n` : "";
  const rest = counts.length === 0 ? "" : `${counts.join(", ")} in files. For details, run "retinue agents check".\n`;
  return `${renderDiagnostics(others.slice(0, MAX_PROBLEMS))}${more}${rest}`;
}

const crossFileCodes: ReadonlySet<string> = new Set([
  "duplicate_name",
  "settings_agent_hidden",
  "confusable_name",
  "hidden_by_directory",
  "not_approved",
  "link_outside",
  "link_broken",
  "too_deep",
  "too_many_files",
]);
const MAX_PROBLEMS = 10;

function allBut(without: readonly string[]): string {
  return without.length === 0 ? "all" : `all but ${shortList(without)}`;
}

function shortList(tools: readonly string[]): string {
  if (tools.length === 0) return "none";
  const text = tools.join(", ");
  return text.length <= 30 ? text : plural(tools.length, "tool");
}

function switchedOffFiles({ trusted, off, root }: Pick<AgentList, "trusted" | "off" | "root">): string[] {
  if (off.length === 0) return [];
  const names = off.join("; ");
  if (trusted)
    return [
      `Retinue ignores these files because they are above the trusted directory: ${names}. To trust them all, run "retinue trust add ${root}".`,
    ];
  return [`This directory is not trusted, so Retinue ignores ${names}. Add --trust, or run "retinue trust add".`];
}
