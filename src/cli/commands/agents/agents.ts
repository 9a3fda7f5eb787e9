import { type AgentList, agentCommands, type CatalogPlace, stateDirectory } from "../../../app/index.ts";
import { plural, stripControls } from "../../../lib/index.ts";
import type { Diagnostic } from "../../../protocol/index.ts";
import type { Command } from "../../command.ts";
import { exitCodes } from "../../exit-codes.ts";
import { createOutput } from "../../output.ts";
import { realDirectory } from "../../real-directory.ts";
import { renderDiagnostics } from "../diagnostics.ts";
import { renderTable } from "../listing.ts";
import { checkFiles } from "./agents-check.ts";
import { explainAgent } from "./agents-explain.ts";
import { lintFiles } from "./agents-lint.ts";
import { newAgent } from "./new.ts";
import { renderAgent } from "./render.ts";

type AgentsCommand = Extract<Command, { kind: `agents.${string}` }>;

/** `retinue agents list|show|explain|check|lint|new`. */
export async function agents(command: AgentsCommand): Promise<number> {
  const output = createOutput(process.stdout, () => undefined);
  switch (command.kind) {
    case "agents.check":
      return checkFiles(command, output);
    case "agents.lint":
      return lintFiles(command, { place: placeOf(command), output });
    case "agents.new":
      await output.write(await newAgent(command));
      return exitCodes.succeeded;
    case "agents.explain":
      return explainAgent(command, { place: placeOf(command), output });
    case "agents.show": {
      const { showAgent } = await agentCommands();
      const details = await showAgent(command.name, placeOf(command));
      await output.write(command.json ? `${JSON.stringify(details, null, 2)}\n` : renderAgent(details));
      return exitCodes.succeeded;
    }
    default: {
      const { definitionDirectories, listAgents } = await agentCommands();
      const place = placeOf(command);
      const list = await listAgents(place);
      if (command.json) await output.write(`${JSON.stringify(list, null, 2)}\n`);
      else await output.write(renderList(list, definitionDirectories(place)));
      return exitCodes.succeeded;
    }
  }
}

function placeOf({ cwd, trust }: { readonly cwd?: string; readonly trust: boolean }): CatalogPlace {
  return { cwd: realDirectory(cwd ?? "."), home: stateDirectory(process.env), environment: process.env, trust };
}

function renderList(list: AgentList, checked: readonly string[]): string {
  const { agents: rows, switchedOff, tokens } = list;
  const head = ["AGENT", "SOURCE", "MODEL", "TOKENS", "TOOLS", "DESCRIPTION"];
  const cells = rows.map(({ name, source, model, tokens: cost, tools, description }) => [
    name,
    source,
    model ?? "inherit",
    String(cost),
    tools === null ? "all" : shortList(tools),
    description,
  ]);
  const overrides = rows.flatMap(({ name, source, overrides: losers }) =>
    losers.map((loser) => `${name} of ${source} takes the place of that of ${loser.source}: ${loser.reason}`),
  );
  const notes = [
    `${plural(rows.length, "agent")}; a model that can delegate reads ${plural(tokens, "token")} about them.`,
    ...overrides,
    ...rows.filter(({ hidden }) => hidden).map(({ name }) => `${name} is hidden: not in that list, and found by name.`),
    ...rows.flatMap(({ name, denied }) => (denied === null ? [] : [`${name} can't be used: ${denied}`])),
    ...switchedOff.map(({ name, reason }) => `${name} is switched off: ${reason}`),
    ...whatIsOff(list),
  ].map((note) => `${stripControls(note)}\n`);
  const table = renderTable([head, ...cells], process.stdout.columns || 0);
  return `${table}\n${notes.join("")}${renderProblems(list.diagnostics, checked)}`;
}

/** Of single files the check tells; what only all of them together show, and what stands elsewhere, is told here. */
function renderProblems(diagnostics: readonly Diagnostic[], checked: readonly string[]): string {
  const isOfCheck = ({ file, code }: Diagnostic): boolean =>
    !ofAllTogether.has(code) && checked.some((directory) => file.startsWith(`${directory}/`));
  const isTold = (each: Diagnostic) => each.severity !== "notice" || each.code === "hidden_by_directory";
  const others = diagnostics.filter((each) => isTold(each) && !isOfCheck(each));
  // A text beside the definitions is no news.
  const counted = diagnostics.filter((each) => isOfCheck(each) && each.code !== "no_frontmatter");
  const counts = (["error", "warning", "notice"] as const)
    .map((severity) => [severity, counted.filter((each) => each.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, severity));
  const more = others.length > mostProblems ? `And ${others.length - mostProblems} more: see --json.\n` : "";
  const rest = counts.length === 0 ? "" : `${counts.join(", ")} about files: "retinue agents check" shows them.\n`;
  return `${renderDiagnostics(others.slice(0, mostProblems))}${more}${rest}`;
}

const ofAllTogether: ReadonlySet<string> = new Set([
  "duplicate_name",
  "settings_agent_hidden",
  "confusable_name",
  "hidden_by_directory",
  "link_outside",
  "link_broken",
  "too_deep",
  "too_many_files",
]);
const mostProblems = 10;

function shortList(tools: readonly string[]): string {
  if (tools.length === 0) return "none";
  const text = tools.join(", ");
  return text.length <= 30 ? text : plural(tools.length, "tool");
}

function whatIsOff({ trusted, off, root }: Pick<AgentList, "trusted" | "off" | "root">): string[] {
  if (off.length === 0) return [];
  const names = off.join("; ");
  if (trusted) return [`Above what you trust, so these are off: ${names}. To trust all: "retinue trust add ${root}".`];
  return [`This directory is not trusted, so these are off: ${names}. Add --trust, or "retinue trust add".`];
}
