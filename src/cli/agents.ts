import { type AgentList, agentCommands, type CatalogPlace, stateDirectory } from "../app/index.ts";
import { plural } from "../lib/index.ts";
import { checkFiles } from "./agents-check.ts";
import { lintFiles } from "./agents-lint.ts";
import { newAgent } from "./agents-new.ts";
import { renderAgent } from "./agents-render.ts";
import type { Command } from "./command.ts";
import { exitCodes } from "./exit-code.ts";
import { createOutput } from "./output.ts";
import { realDirectory } from "./real-directory.ts";
import { renderTable } from "./render-table.ts";

type AgentsCommand = Extract<Command, { kind: `agents.${string}` }>;

/** `retinue agents list|show|check|lint|new`. */
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
    case "agents.show": {
      const { showAgent } = await agentCommands();
      const details = await showAgent(command.name, placeOf(command));
      await output.write(command.json ? `${JSON.stringify(details, null, 2)}\n` : renderAgent(details));
      return exitCodes.succeeded;
    }
    default: {
      const { listAgents } = await agentCommands();
      const list = await listAgents(placeOf(command));
      await output.write(command.json ? `${JSON.stringify(list, null, 2)}\n` : renderList(list));
      return exitCodes.succeeded;
    }
  }
}

function placeOf({ cwd, trust }: { readonly cwd?: string; readonly trust: boolean }): CatalogPlace {
  return { cwd: realDirectory(cwd ?? "."), home: stateDirectory(process.env), environment: process.env, trust };
}

function renderList({ agents: rows, switchedOff, diagnostics, tokens, ...trust }: AgentList): string {
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
  const counts = (["error", "warning", "notice"] as const)
    .map((severity) => [severity, diagnostics.filter((each) => each.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, severity));
  const notes = [
    `${plural(rows.length, "agent")}; a model that can delegate reads ${plural(tokens, "token")} about them.`,
    ...overrides,
    ...rows.filter(({ hidden }) => hidden).map(({ name }) => `${name} is hidden: not in that list, and found by name.`),
    ...switchedOff.map(({ name, reason }) => `${name} is switched off: ${reason}`),
    ...whatIsOff(trust),
    ...(counts.length === 0 ? [] : [`${counts.join(", ")} about files: "retinue agents check" shows them.`]),
  ];
  return `${renderTable([head, ...cells], process.stdout.columns || 0)}\n${notes.join("\n")}\n`;
}

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
