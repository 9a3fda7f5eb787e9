import { createInterface } from "node:readline/promises";
import {
  addTrust,
  type CatalogOptions,
  isTrusted,
  lintAgents,
  type NewAgent,
  refuseAgentCommand,
  stateDirectory,
  whyNotNew,
  writeNewAgent,
} from "../../../app/index.ts";
import { homeDirectory, stripControls, UserError } from "../../../lib/index.ts";
import { messageLines } from "../../output.ts";
import { splitRules, usageError } from "../../read-options.ts";
import { chosenDirectory } from "../../real-directory.ts";
import { confirm } from "../confirm.ts";
import { renderDiagnostics } from "../diagnostics.ts";
import { renderAddedTrust } from "../trust.ts";

type GivenAgent = { readonly [Key in keyof NewAgent]?: NewAgent[Key] | undefined };

export interface NewAgentOptions extends GivenAgent {
  readonly scope: "project" | "user";
  readonly cwd: string | undefined;
}

/** Writes a definition. On a terminal, asks for missing values. Returns the text to print. */
export async function newAgent(options: NewAgentOptions): Promise<string> {
  const base = options.scope === "user" ? homeDirectory() : chosenDirectory(options.cwd);
  const agent = await complete(options, (name) => whyNotNew(name, base));
  const path = writeNewAgent(agent, base);
  const place = { cwd: base, home: stateDirectory(process.env), environment: process.env, trust: false };
  const { findings } = await lintAgents([path], place);
  const written = `Wrote ${path}.\n${renderDiagnostics(findings)}`;
  return options.scope === "user" || isTrusted(place) ? written : `${written}${await offerTrust(place)}`;
}

/**
 * Reports that an agent in an untrusted directory is not loaded. On a terminal, asks whether to trust the directory.
 */
async function offerTrust(place: CatalogOptions): Promise<string> {
  const { cwd } = place;
  const why = `It will not be loaded until you trust ${stripControls(cwd)}`;
  if (process.stdin.isTTY && (await confirm(`${why}. Trust it now?`))) {
    refuseAgentCommand("trust a directory");
    const added = await addTrust(place);
    process.stderr.write(messageLines(added.notices));
    return renderAddedTrust(cwd, added);
  }
  return `${why}: retinue trust add ${stripControls(cwd)}\n`;
}

/** Checks an answer. Returns a sentence for the user if the answer is invalid. */
type AnswerCheck = (answer: string) => string | undefined;

async function complete(
  { name, description, tools, model }: NewAgentOptions,
  checkName: AnswerCheck,
): Promise<NewAgent> {
  if (name !== undefined && description !== undefined) return { name, description, tools, model };
  if (!process.stdin.isTTY) {
    const missing = name === undefined ? "a name" : "a description";
    const fix = 'Usage: retinue agents new NAME --description "What it does. Use when …"';
    throw usageError(`"agents new" needs ${missing}`, fix);
  }
  const problem = name === undefined ? undefined : checkName(name);
  if (problem !== undefined) throw new UserError(problem, { code: "usage", exitCode: 2 });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await askForAgent(
      { name, description, tools, model },
      {
        ask: async (question) => (await terminal.question(`${question} `)).trim(),
        report: (sentence) => process.stderr.write(`${sentence}\n`),
        checkName,
      },
    );
  } finally {
    terminal.close();
  }
}

export interface Dialog {
  /** Asks a question and resolves with the trimmed answer. */
  readonly ask: (question: string) => Promise<string>;
  readonly report: (sentence: string) => void;
  readonly checkName: AnswerCheck;
}

/** Asks for missing values, and asks again after an invalid answer. */
export async function askForAgent(given: GivenAgent, dialog: Dialog): Promise<NewAgent> {
  const { ask, checkName } = dialog;
  const name = given.name ?? (await askUntilValid("Name, e.g. code-reviewer:", checkName, dialog));
  const description =
    given.description ??
    (await askUntilValid("What does it do, and when should it be used?", checkDescription, dialog));
  const listed = given.tools ?? splitRules(await ask("Tools, e.g. Read, Grep (Enter: all):"));
  const tools = given.tools !== undefined || listed.length > 0 ? listed : undefined;
  const model = given.model ?? (await ask("Model: small, medium, large or an id (Enter: same as its parent):"));
  return { name, description, tools, model: model || undefined };
}

function checkDescription(text: string): string | undefined {
  return text === "" ? "Models choose an agent by its description, so a description is required." : undefined;
}

async function askUntilValid(question: string, check: AnswerCheck, { ask, report }: Dialog): Promise<string> {
  for (;;) {
    const answer = await ask(question);
    const problem = check(answer);
    if (problem === undefined) return answer;
    report(problem);
  }
}
