import { nearest, type UserError } from "../lib/index.ts";
import { usageError } from "./read-options.ts";

/**
 * Returns an error if words without `-p` look like a command that does not exist; undefined if they look like a prompt.
 */
export function unknownCommand(words: readonly string[], commandNames: readonly string[]): UserError | undefined {
  const [first = "", second] = words;
  if (words.length > 3 || !/^[\w-]+$/.test(first)) return undefined;
  // Three words are more likely to be a prompt than a command of another program.
  const others = words.length > 2 ? [] : Object.keys(elsewhere);
  const [meant] = nearest(first, [...commandNames, ...others, "help"]);
  if (meant === undefined) return undefined;
  const cure = elsewhere[meant]?.(second) ?? `Did you mean "retinue ${meant}"?`;
  return usageError(`There is no command "${first}"`, `${cure} For a prompt: ${asPrompt(words.join(" "))}.`);
}

/** Returns the command line that runs a prompt. */
export function asPrompt(prompt: string): string {
  return `retinue -p "${prompt.replaceAll('"', '\\"')}"`;
}

const noServer = () => "This version has no server; each run is a process of its own.";
const noLogin = () => "Set ANTHROPIC_API_KEY or OPENAI_API_KEY instead; `retinue doctor` shows which key is used.";
const newVersion = () => "Install the new version the same way you installed this one.";

/** Commands of other programs, with the alternative in Retinue. The argument is the word after the command. */
const elsewhere: Readonly<Record<string, (argument: string | undefined) => string>> = {
  mcp: () => "Configure MCP servers in .mcp.json or in the settings (docs/mcp.md).",
  login: noLogin,
  logout: noLogin,
  auth: noLogin,
  update: newVersion,
  upgrade: newVersion,
  init: () => "Nothing needs to be set up. Instructions go into AGENTS.md, and `retinue agents new` creates an agent.",
  serve: noServer,
  server: noServer,
  worker: noServer,
  models: () => "docs/models.md lists providers and models; `retinue doctor` shows which model is used.",
  skills: () => "docs/skills.md describes where skills are found.",
  hooks: () => "Configure hooks in the settings (docs/hooks.md).",
  settings: () => "Use `retinue config show`.",
};
