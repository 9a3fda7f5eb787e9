/** A fenced block on a page, with the test directive from the comment before it. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** Line number of the opening fence, starting at 1. */
  readonly line: number;
  readonly directive: Directive;
}

export interface Directive {
  /** Why the block can't be run. */
  readonly skip?: string;
  /** Expected exit code. */
  readonly exit: number;
  /** File in `answers/` with the model API server's answers. Without it, no provider is configured. */
  readonly api?: string;
  /** Provider whose environment variables point to that server. */
  readonly wire: "anthropic" | "openai" | "gemini" | "none";
  /** Address in the current settings that is replaced by that server's address. */
  readonly address?: string;
  /** Session id in the text that is replaced by the newest session's id. */
  readonly session?: string;
  /** Whether the block shows output of the last block that was run, or part of it. */
  readonly output: boolean;
  /** Whether figures and ids in the output differ from run to run. */
  readonly figures: boolean;
  /** Whether the block contains settings that the blocks below it use. */
  readonly use: boolean;
}

/**
 * Finds all blocks. The line before a block can contain a directive: `<!-- test: exit=3 api=edit -->` or
 * `<!-- test: skip because … -->`.
 */
export function findBlocks(page: string): Block[] {
  const lines = page.split("\n");
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const language = /^```(\w*)$/.exec(lines[index]!)?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf("```", index + 1);
    if (end === -1) throw new Error(`The block at line ${index + 1} has no end.`);
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
  const known = ["exit", "api", "wire", "address", "session", "output", "figures", "use"];
  const stranger = [...values.keys()].find((key) => !known.includes(key));
  if (stranger !== undefined) throw new Error(`Unknown word "${stranger}" in a test comment. Use ${known.join(", ")}.`);
  const optional = (key: "api" | "address" | "session") => (values.has(key) ? { [key]: values.get(key)! } : {});
  return {
    ...(skip === undefined ? {} : { skip }),
    ...optional("api"),
    ...optional("address"),
    ...optional("session"),
    exit: Number(values.get("exit") ?? 0),
    wire: (values.get("wire") ?? "anthropic") as Directive["wire"],
    output: values.has("output"),
    figures: values.has("figures"),
    use: values.has("use"),
  };
}
