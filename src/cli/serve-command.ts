import { serve } from "./commands/serve.ts";
import { worker } from "./commands/worker.ts";
import { runToExit } from "./run-to-exit.ts";
import type { ServingCommand } from "./serving-commands.ts";

const commands: Readonly<Record<ServingCommand, (argv: readonly string[]) => Promise<number>>> = { serve, worker };

/**
 * Runs a command that connects programs on several machines. This is the program's `serve` entry point, which is
 * separate so that other commands load faster.
 */
export async function serveCommand(name: ServingCommand, argv: readonly string[]): Promise<void> {
  await runToExit(argv, () => commands[name](argv));
}
