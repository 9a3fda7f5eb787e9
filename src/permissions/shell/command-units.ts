import type { ShellAnalysis, SimpleCommand } from "./shell-analysis.ts";

/** One thing that must be allowed by itself. */
export interface CommandUnit {
  readonly command: SimpleCommand;
  /** The programs that run it, outermost first; they are as harmless as it is. */
  readonly wrappers: readonly SimpleCommand[];
}

/** Every distinct command to be judged: wrappers that do nothing else are replaced by what they run. */
export function unitsOf({ commands }: ShellAnalysis): readonly CommandUnit[] {
  const units = new Map<string, CommandUnit>();
  const add = (command: SimpleCommand, wrappers: readonly SimpleCommand[]) => {
    const { runs } = command;
    if (runs?.transparent !== true || command.words[0]!.text.endsWith("find")) {
      const key = [...wrappers, command].map(keyOf).join("\u0001");
      if (!units.has(key)) units.set(key, { command, wrappers });
    }
    if (runs?.transparent !== true) return;
    for (const inner of runs.commands) add(inner, [...wrappers, command]);
  };
  for (const command of commands) add(command, []);
  return [...units.values()];
}

function keyOf({ words, unsafeVariables }: SimpleCommand): string {
  const texts = words.map(({ text, open, lead }) => (open === undefined ? text : `${open} ${lead}\u0002${text}`));
  return [...unsafeVariables, "", ...texts].join("\u0000");
}
