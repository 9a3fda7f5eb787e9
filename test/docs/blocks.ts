/** A fenced block of a page, with what the comment before it tells the test. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
  readonly directive: Directive;
}

export interface Directive {
  /** Why the block can't be run. */
  readonly skip?: string;
  /** Expected exit code. */
  readonly exit: number;
  /** Answers of the model API server to run against: a file in `answers/`. Without it there is no provider. */
  readonly api?: string;
  /** Which provider's variables point at that server. */
  readonly wire: "anthropic" | "openai" | "none";
  /** An address in the settings in use that stands for that server. */
  readonly address?: string;
  /** A session id in the text that stands for the newest session. */
  readonly session?: string;
  /** The block is (part of) what the last run block printed. */
  readonly output: boolean;
  /** The settings of the block are those of the blocks below it. */
  readonly use: boolean;
}

/** `<!-- test: exit=3 api=edit -->` or `<!-- test: skip because … -->` stands on the line before a block. */
export function findBlocks(page: string): Block[] {
  const lines = page.split("\n");
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const language = /^```(\w*)$/.exec(lines[index]!)?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf("```", index + 1);
    if (end === -1) throw new Error(`The block of line ${index + 1} has no end.`);
    const comment = /^<!-- test: (.+) -->$/.exec(lines[index - 1] ?? "")?.[1] ?? "";
    const text = lines.slice(index + 1, end).join("\n");
    blocks.push({ language, text, line: index + 1, directive: parseDirective(comment) });
    index = end;
  }
  return blocks;
}

function parseDirective(comment: string): Directive {
  const skip = /^skip because (.+)$/.exec(comment)?.[1];
  const words = skip === undefined ? comment.split(" ").filter((word) => word !== "") : [];
  const values = new Map(words.map((word) => [word.split("=")[0]!, word.slice(word.indexOf("=") + 1)] as const));
  const known = ["exit", "api", "wire", "address", "session", "output", "use"];
  const stranger = [...values.keys()].find((key) => !known.includes(key));
  if (stranger !== undefined) throw new Error(`"${stranger}" is no word of a test comment: ${known.join(", ")}.`);
  const optional = (key: "api" | "address" | "session") => (values.has(key) ? { [key]: values.get(key)! } : {});
  return {
    ...(skip === undefined ? {} : { skip }),
    ...optional("api"),
    ...optional("address"),
    ...optional("session"),
    exit: Number(values.get("exit") ?? 0),
    wire: (values.get("wire") ?? "anthropic") as Directive["wire"],
    output: values.has("output"),
    use: values.has("use"),
  };
}
