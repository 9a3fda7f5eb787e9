import {
  addPlugin,
  disablePlugin,
  enablePlugin,
  findPlugin,
  type InstalledPlugin,
  listPlugins,
  type Plugin,
  refuseAgentCommand,
  removePlugin,
  stateDirectory,
} from "../../app/index.ts";
import { plural, showExactly, stripControls } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput } from "../output.ts";
import { type HelpRequest, helpOption, readVerb, usageError } from "../read-options.ts";
import { confirm } from "./confirm.ts";
import { renderDiagnostics } from "./diagnostics.ts";
import { renderTable } from "./listing.ts";

/** Runs `retinue plugins list|add|remove|enable|disable`. */
export async function plugins(argv: readonly string[]): Promise<number> {
  const command = parsePlugins(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const home = stateDirectory(process.env);
  const output = createOutput(process.stdout);
  switch (command.kind) {
    case "list":
      return list(command.json, { home, write: output.write });
    case "add": {
      const { plugin, diagnostics } = await addPlugin(command.source, { home, environment: process.env });
      await output.write(`Added ${plugin.name} to ${plugin.root}.\n${renderDiagnostics(diagnostics)}`);
      await output.write(await enable(plugin, { home, yes: command.yes }));
      return exitCodes.succeeded;
    }
    case "enable": {
      const { plugin, diagnostics } = findPlugin(home, command.name);
      if (plugin === undefined) {
        await output.write(renderDiagnostics(diagnostics));
        return exitCodes.failed;
      }
      if (!command.yes && !process.stdin.isTTY) {
        await output.write(describeContents(plugin));
        throw usageError("Confirmation requires a terminal", `Use: retinue plugins enable ${plugin.name} --yes`);
      }
      await output.write(await enable(plugin, { home, yes: command.yes }));
      return exitCodes.succeeded;
    }
    case "disable":
      refuseAgentCommand("disable a plugin");
      await disablePlugin(home, command.name);
      await output.write(`${command.name} is disabled. Its files are kept.\n`);
      return exitCodes.succeeded;
    case "remove": {
      refuseAgentCommand("remove a plugin");
      findPlugin(home, command.name);
      const isConfirmed = command.yes || (await confirm(`Remove the plugin ${command.name} and its files?`));
      if (isConfirmed) await removePlugin(home, command.name);
      await output.write(isConfirmed ? `Removed ${command.name}.\n` : "Nothing was removed.\n");
      return exitCodes.succeeded;
    }
  }
}

type PluginsCommand =
  | { readonly kind: "list"; readonly json: boolean }
  | { readonly kind: "add"; readonly source: string; readonly yes: boolean }
  | { readonly kind: "remove" | "enable" | "disable"; readonly name: string; readonly yes: boolean };

const yesOption = { short: "y" };
const verbs = {
  list: { json: {}, help: helpOption },
  add: { yes: yesOption, help: helpOption },
  remove: { yes: yesOption, help: helpOption },
  enable: { yes: yesOption, help: helpOption },
  disable: { help: helpOption },
};

function parsePlugins(argv: readonly string[]): PluginsCommand | HelpRequest {
  const read = readVerb("plugins", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  const [argument, ...more] = options.positionals;
  if (verb === "list") {
    if (argument !== undefined) throw usageError('"plugins list" takes no name', 'Use "retinue plugins list".');
    return { kind: "list", json: options.has("json") };
  }
  const what = verb === "add" ? "a directory or the address of a repository" : "the name of a plugin";
  if (argument === undefined) throw usageError(`"plugins ${verb}" needs ${what}`, 'See "retinue plugins --help".');
  if (more.length > 0) throw usageError(`"plugins ${verb}" takes only one argument`, `Leave out "${more.join(" ")}".`);
  const yes = options.has("yes");
  if (verb === "add") return { kind: "add", source: argument, yes };
  return { kind: verb as "remove" | "enable" | "disable", name: argument, yes };
}

/** Shows a plugin's contents before it is approved. Without a terminal, the plugin stays disabled. */
async function enable(plugin: Plugin, { home, yes }: { home: string; yes: boolean }): Promise<string> {
  const brings = describeContents(plugin);
  const waiting = `It is disabled. To enable it: retinue plugins enable ${plugin.name} --yes\n`;
  if (!yes && !process.stdin.isTTY) return brings + waiting;
  if (!yes && !(await confirm(`${brings}Enable it?`))) return waiting;
  refuseAgentCommand("enable a plugin");
  await enablePlugin(home, { name: plugin.name, hash: plugin.hash });
  return `${yes ? brings : ""}${plugin.name} is enabled.\n`;
}

function describeContents(plugin: Plugin): string {
  const lines = contentsOf(plugin).map((line) => `  ${showExactly(line)}\n`);
  return `${stripControls(plugin.name)} contains:\n${lines.join("")}`;
}

function contentsOf({ root, agentFiles, skillFiles, commandFiles, hooks, mcpServers, dependencies }: Plugin): string[] {
  const relative = (file: string): string => file.slice(root.length + 1);
  const lines = [
    ...agentFiles.map((file) => `agent   ${relative(file)}`),
    ...skillFiles.map((file) => `skill   ${relative(file)}`),
    ...commandFiles.map((file) => `command ${relative(file)}`),
    ...Object.entries(hooks ?? {}).map(([event, value]) => `hooks   ${event}: ${JSON.stringify(value)}`),
    ...Object.entries(mcpServers ?? {}).map(([name, value]) => `server  ${name}: ${JSON.stringify(value)}`),
    ...dependencies.map(({ name, version }) => `needs   ${name}${version === undefined ? "" : ` ${version}`}`),
  ];
  return lines.length === 0 ? ["nothing"] : lines;
}

async function list(
  json: boolean,
  { home, write }: { home: string; write: (text: string) => Promise<void> },
): Promise<number> {
  const found = listPlugins(home);
  const diagnostics = found.flatMap((each) => each.diagnostics);
  if (json) await write(`${JSON.stringify({ plugins: found.map(describe), diagnostics }, null, 2)}\n`);
  else {
    const none = 'There are no plugins. "retinue plugins add" takes a directory or a git URL.\n';
    await write(found.length === 0 ? none : tableOf(found));
    const isShown = ({ severity, code }: Diagnostic): boolean => severity !== "notice" || code === "unsupported_parts";
    await write(renderDiagnostics(diagnostics.filter(isShown)));
  }
  return exitCodes.succeeded;
}

function tableOf(found: readonly InstalledPlugin[]): string {
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

function summaryOf({ agentFiles, skillFiles, commandFiles, hooks, mcpServers }: Plugin): string {
  const counts = [
    [agentFiles.length, "agent"],
    [skillFiles.length, "skill"],
    [commandFiles.length, "command"],
    [Object.keys(hooks ?? {}).length, "hook event"],
    [Object.keys(mcpServers ?? {}).length, "MCP server"],
  ] as const;
  const parts = counts.filter(([count]) => count > 0).map(([count, noun]) => plural(count, noun));
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

function describe({ name, state, record, plugin }: InstalledPlugin): object {
  const { source } = record;
  if (plugin === undefined) return { name, state, source };
  const { version, description, root, dependencies, agentFiles, skillFiles, hooks = {}, mcpServers = {} } = plugin;
  const brings = {
    agents: agentFiles,
    skills: skillFiles,
    commands: plugin.commandFiles,
    hooks: Object.keys(hooks),
    mcpServers: Object.keys(mcpServers),
  };
  return { name, state, source, version, description, root, dependencies, ...brings };
}
