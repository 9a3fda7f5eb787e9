import { homedir } from "node:os";
import { agentCommands, type NewAgent, stateDirectory, UserError } from "../../../app/index.ts";
import type { Command } from "../../command.ts";
import { realDirectory } from "../../real-directory.ts";
import { renderDiagnostics } from "../diagnostics.ts";
import { askAgent } from "./ask-agent.ts";

type NewCommand = Extract<Command, { kind: "agents.new" }>;

/** `retinue agents new`: writes a definition; on a terminal it asks for what was not given. Answers with what to tell. */
export async function newAgent(command: NewCommand): Promise<string> {
  const { lintAgents, whyNotNew, writeNewAgent } = await agentCommands();
  const base = command.scope === "user" ? process.env["HOME"] || homedir() : realDirectory(command.cwd ?? ".");
  const agent = await completed(command, (name) => whyNotNew(name, base));
  const path = writeNewAgent(agent, base);
  const place = { cwd: base, home: stateDirectory(process.env), environment: process.env, trust: false };
  const { findings } = await lintAgents([path], place);
  return `Wrote ${path}.\n${renderDiagnostics(findings)}`;
}

async function completed(
  { name, description, tools, model }: NewCommand,
  whyNot: (name: string) => string | undefined,
): Promise<NewAgent> {
  const rest = { ...(tools === undefined ? {} : { tools }), ...(model === undefined ? {} : { model }) };
  if (name !== undefined && description !== undefined) return { name, description, ...rest };
  if (!process.stdin.isTTY) {
    const missing = name === undefined ? "a name" : "a description";
    const cure = 'Write: retinue agents new NAME --description "What it does. Use when …"';
    throw new UserError(`"agents new" needs ${missing}`, { code: "usage", cure, exitCode: 2 });
  }
  const refusal = name === undefined ? undefined : whyNot(name);
  if (refusal !== undefined) throw new UserError(refusal, { code: "usage", exitCode: 2 });
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const given = { ...(name === undefined ? {} : { name }), ...(description === undefined ? {} : { description }) };
  try {
    return await askAgent(
      { ...given, ...rest },
      {
        ask: async (question) => (await terminal.question(`${question} `)).trim(),
        tell: (sentence) => process.stderr.write(`${sentence}\n`),
        whyNot,
      },
    );
  } finally {
    terminal.close();
  }
}
