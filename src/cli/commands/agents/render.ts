import type { AgentDetails } from "../../../app/index.ts";
import { plural, stripControls } from "../../../lib/index.ts";
import { renderDiagnostics } from "../diagnostics.ts";

/** Everything about one agent, for people. */
export function renderAgent(details: AgentDetails): string {
  const { definition, plugin, overrides, tokens, bodyCharacters, diagnostics } = details;
  const { name, description, source, file, tools: _tools, disallowedTools: _disallowed, ...fields } = definition;
  const rows: [string, string][] = [
    ["source", plugin === null ? source : `${source} ${plugin}`],
    ["file", file ?? "built in"],
    ["model", details.model ?? "inherit: that of the caller"],
    ["tools", toolsOf(details)],
    ...Object.entries(fields)
      .filter(([key]) => key !== "model" && key !== "plugin")
      .map(([key, value]): [string, string] => [key, shown(value)]),
    ["prompt", plural(bodyCharacters, "character")],
    [
      "in the list",
      details.denied === null ? `${plural(tokens, "token")} in the list a model chooses from` : `no. ${details.denied}`,
    ],
    ...overrides.map((loser): [string, string] => [
      "instead of",
      `${loser.file ?? `that of ${loser.source}`}. ${loser.reason}`,
    ]),
  ];
  const width = Math.max(...rows.map(([key]) => key.length));
  const lines = rows.map(([key, value]) => `  ${key.padEnd(width)}  ${flat(value)}`);
  return `${flat(name)}\n${flat(description)}\n\n${lines.join("\n")}\n${diagnostics.length > 0 ? "\n" : ""}${renderDiagnostics(diagnostics)}`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isList ? value.join(", ") : JSON.stringify(value);
}

function toolsOf({ tools, resolvedTools, disallowedTools }: AgentDetails): string {
  const without = disallowedTools.length === 0 ? "" : `, without ${disallowedTools.join(", ")}`;
  if (tools === null || resolvedTools === null) return `every tool${without}`;
  const resolved = resolvedTools.length === 0 ? "none" : resolvedTools.join(", ");
  const written = tools.join(", ");
  return written === resolved
    ? `${resolved}${without}`
    : `${resolved}, written as ${written || "an empty list"}${without}`;
}

function flat(text: string): string {
  return stripControls(text).replace(/\s+/g, " ").trim();
}
