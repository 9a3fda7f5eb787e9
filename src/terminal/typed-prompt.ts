/** A prompt as the user typed it, and the outputs of shell commands that were sent with it. */
export interface TypedPrompt {
  readonly typed: string;
  /** Messages for the model, each about one command. */
  readonly outputs: readonly string[];
}

/** Returns the text that tells the model about the user's shell command. */
export function outputText(command: string, output: string): string {
  const longest = Math.max(2, ...Array.from(output.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `I ran this command:\n\n${fence}\n$ ${command}\n${output}\n${fence}`;
}

/** Extracts what the user typed from a prompt that was sent. */
export function typedPrompt(prompt: string): TypedPrompt {
  const outputs: string[] = [];
  let rest = prompt;
  for (let found = ran.exec(rest); found !== null; found = ran.exec(rest)) {
    outputs.push(found[0].trimEnd());
    rest = rest.slice(found[0].length);
  }
  const [, skill, argument] = started.exec(rest) ?? [];
  if (skill === undefined) return { typed: rest, outputs };
  return { typed: argument === undefined ? `/${skill}` : `/${skill} ${JSON.parse(argument)}`, outputs };
}

const ran = /^I ran this command:\n\n(`{3,})\n\$ [\s\S]*?\n\1(?:\n\n|$)/;
/** Matches a skill's prompt, as written by the program that starts the terminal. */
const started = /^Follow the skill "([^"]+)"(?: for ("(?:[^"\\]|\\.)*"))?:\n\n/;

/** Returns a prompt for display: the typed text, and the number of outputs that were sent with it. */
export function shownPrompt(prompt: string): string {
  const { typed, outputs } = typedPrompt(prompt);
  if (outputs.length === 0) return typed;
  const what = outputs.length === 1 ? "output of 1 command" : `output of ${outputs.length} commands`;
  return `${typed} [+ ${what}]`;
}
