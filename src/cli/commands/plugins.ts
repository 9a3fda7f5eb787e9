import { type InstalledPlugin, type Plugin, pluginCommands, stateDirectory } from "../../app/index.ts";
import { plural, stripControls } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { confirm } from "./confirm.ts";
import { renderDiagnostics } from "./diagnostics.ts";
import { renderTable } from "./listing.ts";

type PluginsCommand = Extract<Command, { kind: `plugins.${string}` }>;

/** `retinue plugins list|add|remove|enable|disable`. */
export async function plugins(command: PluginsCommand): Promise<number> {
  const { addPlugin, disablePlugin, findPlugin, removePlugin } = await pluginCommands();
  const home = stateDirectory(process.env);
  const output = createOutput(process.stdout, () => undefined);
  switch (command.kind) {
    case "plugins.list":
      return list(command, { home, write: output.write });
    case "plugins.add": {
      const { plugin, diagnostics } = await addPlugin(command.source, { home, environment: process.env });
      await output.write(`Added ${plugin.name} to ${plugin.root}.\n${renderDiagnostics(diagnostics)}`);
      await output.write(await enable(plugin, { home, yes: command.yes }));
      return exitCodes.succeeded;
    }
    case "plugins.enable": {
      const { plugin, diagnostics } = findPlugin(home, command.name);
      if (plugin === undefined) {
        await output.write(renderDiagnostics(diagnostics));
        return exitCodes.failed;
      }
      await output.write(await enable(plugin, { home, yes: command.yes }));
      return exitCodes.succeeded;
    }
    case "plugins.disable":
      await disablePlugin(home, command.name);
      await output.write(`${command.name} is off. Its files stay.\n`);
      return exitCodes.succeeded;
    default: {
      findPlugin(home, command.name);
      const isMeant = command.yes || (await confirm(`Remove the plugin ${command.name} and its files?`));
      if (isMeant) await removePlugin(home, command.name);
      await output.write(isMeant ? `Removed ${command.name}.\n` : "Nothing was removed.\n");
      return exitCodes.succeeded;
    }
  }
}

/** What it brings is shown before anybody says yes to it; where nobody can be asked it stays off. */
async function enable(plugin: Plugin, { home, yes }: { home: string; yes: boolean }): Promise<string> {
  const brings = `${stripControls(plugin.name)} brings:\n${contentsOf(plugin)
    .map((line) => `  ${stripControls(line, { visible: true })}\n`)
    .join("")}`;
  const waiting = `It is off. Switch it on: retinue plugins enable ${plugin.name} --yes\n`;
  if (!yes && !process.stdin.isTTY) return brings + waiting;
  if (!yes && !(await confirm(`${brings}Switch it on?`))) return waiting;
  const { enablePlugin } = await pluginCommands();
  await enablePlugin(home, { name: plugin.name, hash: plugin.hash });
  return `${yes ? brings : ""}${plugin.name} is on.\n`;
}

function contentsOf({ root, agentFiles, skillFiles, hooks, mcpServers, dependencies }: Plugin): string[] {
  const relative = (file: string): string => file.slice(root.length + 1);
  const lines = [
    ...agentFiles.map((file) => `agent   ${relative(file)}`),
    ...skillFiles.map((file) => `skill   ${relative(file)}`),
    ...Object.entries(hooks ?? {}).map(([event, value]) => `hooks   ${event}: ${JSON.stringify(value)}`),
    ...Object.entries(mcpServers ?? {}).map(([name, value]) => `server  ${name}: ${JSON.stringify(value)}`),
    ...dependencies.map(({ name, version }) => `needs   ${name}${version === undefined ? "" : ` ${version}`}`),
  ];
  return lines.length === 0 ? ["nothing"] : lines;
}

async function list(
  { json }: Extract<Command, { kind: "plugins.list" }>,
  { home, write }: { home: string; write: (text: string) => Promise<void> },
): Promise<number> {
  const { listPlugins } = await pluginCommands();
  const { plugins: found, problem } = listPlugins(home);
  const diagnostics = found.flatMap((each) => each.diagnostics);
  if (json) await write(`${JSON.stringify({ plugins: found.map(describe), diagnostics, problem }, null, 2)}\n`);
  else {
    const none = 'There are no plugins. "retinue plugins add" takes a directory or a git address.\n';
    await write(found.length === 0 && problem === undefined ? none : tableOf(found));
    await write(problem === undefined ? "" : `${problem}\n`);
    await write(renderDiagnostics(diagnostics.filter(({ severity }: Diagnostic) => severity !== "notice")));
  }
  return problem === undefined ? exitCodes.succeeded : exitCodes.failed;
}

function tableOf(found: readonly InstalledPlugin[]): string {
  if (found.length === 0) return "";
  const head = ["PLUGIN", "VERSION", "STATE", "BRINGS", "NEEDS", "FROM"];
  const rows = found.map(({ name, state, plugin, record }) => [
    name,
    plugin?.version ?? "",
    state,
    plugin === undefined ? "" : summaryOf(plugin),
    plugin?.dependencies.map((each) => each.name).join(", ") ?? "",
    record.source,
  ]);
  return renderTable([head, ...rows], process.stdout.columns || 0);
}

function summaryOf({ agentFiles, skillFiles, hooks, mcpServers }: Plugin): string {
  const counts = [
    [agentFiles.length, "agent"],
    [skillFiles.length, "skill"],
    [Object.keys(hooks ?? {}).length, "hook event"],
    [Object.keys(mcpServers ?? {}).length, "MCP server"],
  ] as const;
  const words = counts.filter(([count]) => count > 0).map(([count, word]) => plural(count, word));
  return words.length === 0 ? "nothing" : words.join(", ");
}

function describe({ name, state, record, plugin }: InstalledPlugin): object {
  const { source } = record;
  if (plugin === undefined) return { name, state, source };
  const { version, description, root, dependencies, agentFiles, skillFiles, hooks = {}, mcpServers = {} } = plugin;
  const brings = {
    agents: agentFiles,
    skills: skillFiles,
    hooks: Object.keys(hooks),
    mcpServers: Object.keys(mcpServers),
  };
  return { name, state, source, version, description, root, dependencies, ...brings };
}
