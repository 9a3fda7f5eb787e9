import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeError, errorCode, UserError } from "../../lib/index.ts";

export interface NewAgent {
  readonly name: string;
  readonly description: string;
  /** Absent: it inherits every tool. */
  readonly tools?: readonly string[] | undefined;
  readonly model?: string | undefined;
}

/** Writes the file below `base` (a project, or the home directory) and answers with its path. Never overwrites. */
export function writeNewAgent(agent: NewAgent, base: string): string {
  const refusal = nameRefusal(agent.name);
  if (refusal !== undefined) throw refusal;
  if (agent.description.trim() === "") throw usage("The description is empty", "Say what it does and when to use it.");
  const directory = directoryFor(base);
  const path = join(directory, `${agent.name}.md`);
  try {
    mkdirSync(directory, { recursive: true });
    writeFileSync(path, agentFileText(agent), { flag: "wx" });
    return path;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw usage(`${path} can't be written: ${errorCode(error)}`, "Check the path.");
    throw isThere(path);
  }
}

/** Why no new agent below `base` can have this name, as a sentence with the cure; undefined: it can. */
export function whyNotNew(name: string, base: string): string | undefined {
  const path = join(directoryFor(base), `${name}.md`);
  const refusal = nameRefusal(name) ?? (existsSync(path) ? isThere(path) : undefined);
  return refusal && describeError(refusal);
}

function isThere(path: string): UserError {
  return usage(`${path} is there already`, "Edit it, or choose another name.");
}

/** Where definitions are read from: a new one goes where the others are. */
function directoryFor(base: string): string {
  const ours = join(base, ".agents", "agents");
  const compatible = join(base, ".claude", "agents");
  return !existsSync(ours) && existsSync(compatible) ? compatible : ours;
}

// The name becomes a file name too, here and on systems that care about case, dots and colons.
function nameRefusal(name: string): UserError | undefined {
  if (/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u.test(name)) return undefined;
  return usage(`"${name}" can't be the name of a new agent`, "Use letters, digits and hyphens, e.g. code-reviewer.");
}

export function agentFileText({ name, description, tools, model }: NewAgent): string {
  const fields = [
    `name: ${scalar(name)}`,
    `description: ${scalar(description)}`,
    ...(tools === undefined ? [] : [`tools: ${tools.length === 0 ? "[]" : scalar(tools.join(", "))}`]),
    ...(model === undefined ? [] : [`model: ${scalar(model)}`]),
  ];
  return `---\n${fields.join("\n")}\n---\n\n${bodyFor(name)}`;
}

/** A name that YAML would take for a number or a truth value is quoted too. */
function scalar(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const isPlain =
    /^[\p{L}][\p{L}\p{N} ,.()'/_*-]*$/u.test(line) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(line);
  return isPlain ? line : JSON.stringify(line);
}

function bodyFor(name: string): string {
  return `You are ${name}. You do one task for another agent, which sees nothing but your final report.

## How to work
1. Read the task and settle what done means before you touch anything.
2. Look at the files that matter before you judge them; search rather than guess.
3. Do what was asked and nothing beside it. What is out of scope you mention, and leave alone.
4. Check the result the way its user would: run it, or read it again.

## Report
- The answer first, in one or two sentences.
- Then the evidence: file and line, the command and what it printed.
- Last, what you could not do or check, and why.
`;
}

function usage(message: string, cure: string): UserError {
  return new UserError(message, { code: "usage", cure, exitCode: 2 });
}
