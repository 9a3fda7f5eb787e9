import type { Command } from "./command.ts";
import { createFormat, formatAskedFor } from "./formats/create-format.ts";
import { createOutput } from "./output.ts";
import { type Faces, reportError } from "./report-error.ts";

/** Does what the words ask for and ends the process: everything written has left it by then. */
export async function runCommand(argv: readonly string[]): Promise<void> {
  let code: number;
  try {
    const { parseArguments } = await import("./arguments.ts");
    code = await dispatch(parseArguments(argv));
  } catch (error) {
    code = await reportError(error, await facesFor(argv));
  }
  process.exit(code);
}

async function facesFor(argv: readonly string[]): Promise<Faces> {
  const format = await createFormat({
    outputFormat: formatAskedFor(argv),
    partialMessages: false,
    forTerminal: false,
  });
  const output = createOutput(process.stdout, () => undefined);
  return { format, output, errors: createOutput(process.stderr, () => undefined) };
}

async function dispatch(command: Command): Promise<number> {
  switch (command.kind) {
    case "print": {
      const { printRun } = await import("./print-run.ts");
      return printRun(command.options);
    }
    case "interactive": {
      const { refuseInteractive } = await import("./refuse-interactive.ts");
      return refuseInteractive(command.prompt);
    }
    case "help": {
      const { helpFor } = await import("./help.ts");
      return say(helpFor(command.topic));
    }
    case "version": {
      const { VERSION } = await import("../app/index.ts");
      return say(`${VERSION}\n`);
    }
    case "doctor": {
      const { doctor } = await import("./doctor.ts");
      return doctor(command.options);
    }
    default: {
      const { sessions } = await import("./sessions.ts");
      return sessions(command);
    }
  }
}

async function say(text: string): Promise<number> {
  await createOutput(process.stdout, () => undefined).write(text);
  return 0;
}
