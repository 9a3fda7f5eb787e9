import { VERSION } from "../app/index.ts";
import type { Command } from "./command.ts";
import { createFormat, formatAskedFor } from "./formats/create-format.ts";
import { createOutput } from "./output.ts";
import { parseArguments } from "./print/print-options.ts";
import { printRun } from "./print/print-run.ts";
import { createAgentViews } from "./progress/agent-views.ts";
import { type Faces, reportError } from "./report-error.ts";

/** Does what the words ask for and ends the process: everything written has left it by then. */
export async function runCommand(argv: readonly string[]): Promise<void> {
  const fail = async (error: unknown): Promise<number> => reportError(error, await facesFor(argv));
  // A bug in the background must not show a person a stack, nor leave a program without a result.
  process.once("uncaughtException", (error) => void fail(error).then((code) => process.exit(code)));
  let code: number;
  try {
    code = await dispatch(parseArguments(argv));
  } catch (error) {
    code = await fail(error);
  }
  // An output that could not be written has set the exit code already.
  process.exit(code || process.exitCode);
}

async function facesFor(argv: readonly string[]): Promise<Faces> {
  const format = await createFormat({
    outputFormat: formatAskedFor(argv),
    partialMessages: false,
    subagentText: false,
    agents: createAgentViews(),
    forTerminal: false,
  });
  const output = createOutput(process.stdout, () => undefined);
  return { format, output, errors: createOutput(process.stderr, () => undefined) };
}

async function dispatch(command: Command): Promise<number> {
  switch (command.kind) {
    case "print":
      return printRun(command.options);
    case "interactive": {
      const { refuseInteractive } = await import("./refuse-interactive.ts");
      return refuseInteractive(command.prompt);
    }
    case "help": {
      const { helpFor } = await import("./help/help.ts");
      return say(helpFor(command.topic));
    }
    case "version":
      return say(`${VERSION}\n`);
    case "doctor": {
      const { doctor } = await import("./commands/doctor.ts");
      return doctor(command.options);
    }
    case "agents.list":
    case "agents.show":
    case "agents.check":
    case "agents.lint":
    case "agents.new":
    case "agents.explain": {
      const { agents } = await import("./commands/agents/agents.ts");
      return agents(command);
    }
    case "approvals.list":
    case "approvals.answer": {
      const { approvals } = await import("./commands/approvals.ts");
      return approvals(command);
    }
    case "permissions.list":
    case "permissions.check": {
      const { permissions } = await import("./commands/permissions.ts");
      return permissions(command);
    }
    case "plugins.list":
    case "plugins.add":
    case "plugins.remove":
    case "plugins.enable":
    case "plugins.disable": {
      const { plugins } = await import("./commands/plugins.ts");
      return plugins(command);
    }
    case "trust.list":
    case "trust.add":
    case "trust.remove": {
      const { trust } = await import("./commands/trust.ts");
      return trust(command);
    }
    case "cache.report":
    case "cache.explain": {
      const { cache } = await import("./commands/cache.ts");
      return cache(command);
    }
    case "worktrees.list":
    case "worktrees.prune": {
      const { worktrees } = await import("./commands/worktrees.ts");
      return worktrees(command);
    }
    case "config.show": {
      const { config } = await import("./commands/config.ts");
      return config(command);
    }
    default: {
      const { sessions } = await import("./commands/sessions/sessions.ts");
      return sessions(command);
    }
  }
}

async function say(text: string): Promise<number> {
  await createOutput(process.stdout, () => undefined).write(text);
  return 0;
}
