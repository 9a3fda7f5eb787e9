import { splitRules } from "../../split-rules.ts";

/** What was given on the command line; after the questions nothing of it is open. */
export interface AskedAgent {
  readonly name: string;
  readonly description: string;
  readonly tools?: readonly string[];
  readonly model?: string;
}

export interface Conversation {
  /** Answers without the space around them. */
  readonly ask: (question: string) => Promise<string>;
  readonly tell: (sentence: string) => void;
  /** A sentence if there can be no new agent of this name. */
  readonly whyNot: (answer: string) => string | undefined;
}

/** Asks for what was not given; an answer that can't be used is refused at once, and asked for again. */
export async function askAgent(given: Partial<AskedAgent>, talk: Conversation): Promise<AskedAgent> {
  const { ask } = talk;
  const name = given.name ?? (await askUntil("Name, e.g. code-reviewer:", talk));
  const whyNot = (words: string) => (words === "" ? needed : undefined);
  const description =
    given.description ?? (await askUntil("What does it do, and when is it to be used?", { ...talk, whyNot }));
  const listed = given.tools ?? splitRules(await ask("Tools, e.g. Read, Grep (Enter: all):"));
  const tools = given.tools !== undefined || listed.length > 0 ? { tools: listed } : {};
  const model = given.model ?? (await ask("Model: small, medium, large, an id (Enter: as the caller):"));
  return { name, description, ...tools, ...(model === "" ? {} : { model }) };
}

const needed = "A model chooses an agent by its description, so there must be one.";

async function askUntil(question: string, { ask, tell, whyNot }: Conversation): Promise<string> {
  for (;;) {
    const answer = await ask(question);
    const problem = whyNot(answer);
    if (problem === undefined) return answer;
    tell(problem);
  }
}
