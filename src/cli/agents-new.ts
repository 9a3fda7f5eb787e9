import { homedir } from "node:os";
import { agentCommands, type NewAgent, stateDirectory, UserError } from "../app/index.ts";
import type { Command } from "./command.ts";
import { realDirectory } from "./real-directory.ts";
import { renderDiagnostics } from "./render-diagnostics.ts";
import { splitRules } from "./split-rules.ts";

type NewCommand = Extract<Command, { kind: "agents.new" }>;

/** `retinue agents new`: writes a definition; on a terminal it asks for what was not given. Answers with what to tell. */
export async function newAgent(command: NewCommand): Promise<string> {
  const agent = await completed(command);
  const { lintAgents, writeNewAgent } = await agentCommands();
  const base = command.scope === "user" ? process.env["HOME"] || homedir() : realDirectory(command.cwd ?? ".");
  const path = writeNewAgent(agent, base);
  const place = { cwd: base, home: stateDirectory(process.env), environment: process.env, trust: false };
  const { findings } = await lintAgents([path], place);
  return `Wrote ${path}.\n${renderDiagnostics(findings)}`;
}

async function completed({ name, description, tools, model }: NewCommand): Promise<NewAgent> {
  const rest = { ...(tools === undefined ? {} : { tools }), ...(model === undefined ? {} : { model }) };
  if (name !== undefined && description !== undefined) return { name, description, ...rest };
  if (!process.stdin.isTTY) {
    const missing = name === undefined ? "a name" : "a description";
    const cure = 'Write: retinue agents new NAME --description "What it does. Use when …"';
    throw new UserError(`"agents new" needs ${missing}`, { code: "usage", cure, exitCode: 2 });
  }
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ask = async (question: string): Promise<string> => (await terminal.question(`${question} `)).trim();
  try {
    const asked = {
      name: name ?? (await ask("Name, e.g. code-reviewer:")),
      description: description ?? (await ask("What does it do, and when is it to be used?")),
    };
    const listed = tools === undefined ? splitRules(await ask("Tools, e.g. Read, Grep (Enter: all):")) : [];
    const chosen = model === undefined ? await ask("Model: small, medium, large, an id (Enter: as the caller):") : "";
    return {
      ...asked,
      ...(listed.length === 0 ? {} : { tools: listed }),
      ...(chosen === "" ? {} : { model: chosen }),
      ...rest,
    };
  } finally {
    terminal.close();
  }
}
