/** A realistic definition and the fields that it must produce. All samples load. */
export interface Sample {
  readonly title: string;
  readonly text: string;
  readonly name: string;
  readonly description: string | RegExp;
  readonly tools?: readonly string[];
}

const body = "You are thorough.\n\nWrite short reports.\n";

function sample(title: string, frontmatter: string, expected: Omit<Sample, "title" | "text">): Sample {
  return { title, text: `---\n${frontmatter}\n---\n\n${body}`, ...expected };
}

const reviewer = { name: "reviewer", description: "Reviews changes. Use after edits." } as const;

export const samples: readonly Sample[] = [
  sample("plain", "name: reviewer\ndescription: Reviews changes. Use after edits.", reviewer),
  sample(
    "comma tools",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools: Read, Grep, Bash(git diff *)",
    {
      ...reviewer,
      tools: ["Read", "Grep", "Bash(git diff *)"],
    },
  ),
  sample(
    "comma in a specifier",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools: Bash(git log, git diff), Read",
    {
      ...reviewer,
      tools: ["Bash(git log, git diff)", "Read"],
    },
  ),
  sample("block list", "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools:\n  - Read\n  - Grep", {
    ...reviewer,
    tools: ["Read", "Grep"],
  }),
  sample(
    "list without indentation",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools:\n- Read\n- Grep",
    {
      ...reviewer,
      tools: ["Read", "Grep"],
    },
  ),
  sample("inline list", 'name: reviewer\ndescription: Reviews changes. Use after edits.\ntools: [Read, "Grep"]', {
    ...reviewer,
    tools: ["Read", "Grep"],
  }),
  sample(
    "inline list on several lines",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools:\n  [\n    Read,\n    Grep,\n  ]",
    {
      ...reviewer,
      tools: ["Read", "Grep"],
    },
  ),
  sample(
    "JSON in quotes",
    `name: reviewer\ndescription: Reviews changes. Use after edits.\ntools: '["Read", "Grep"]'`,
    {
      ...reviewer,
      tools: ["Read", "Grep"],
    },
  ),
  sample("wildcard", "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools: *", reviewer),
  sample("each name quoted", 'name: reviewer\ndescription: Reviews changes. Use after edits.\ntools: "Read", "Grep"', {
    ...reviewer,
    tools: ["Read", "Grep"],
  }),
  sample(
    "colon in a specifier in a list",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\ntools:\n  - Bash(git: *)\n  - Read",
    {
      ...reviewer,
      tools: ["Bash(git: *)", "Read"],
    },
  ),
  sample("quoted", "name: \"reviewer\"\ndescription: 'Reviews changes. Use after edits.'", reviewer),
  sample("literal block", "name: reviewer\ndescription: |\n  Reviews changes.\n  Use after: edits.\nmodel: sonnet", {
    name: "reviewer",
    description: "Reviews changes.\nUse after: edits.",
  }),
  sample("folded block", "name: reviewer\ndescription: >-\n  Reviews changes.\n  Use after edits.", reviewer),
  sample("wrapped", "name: reviewer\ndescription: Reviews changes.\n  Use after edits.\ncolor: red", reviewer),
  sample(
    "unquoted colons",
    "name: reviewer\ndescription: Reviews changes: all of them. Triggers on: 'review'\ntools: Read",
    {
      name: "reviewer",
      description: "Reviews changes: all of them. Triggers on: 'review'",
      tools: ["Read"],
    },
  ),
  sample(
    "example with escaped newlines",
    'name: reviewer\ndescription: Reviews. Examples: <example>Context: done.\\nuser: "review"\\nassistant: "ok"</example>\ntools: Read\nmodel: opus',
    { name: "reviewer", description: /^Reviews\. Examples: <example>Context: done\./, tools: ["Read"] },
  ),
  sample(
    "example without indentation",
    'name: reviewer\ndescription: Reviews changes.\n\n<example>\nContext: edits are done.\nuser: "review: now"\nassistant: "ok"\n</example>\ntools: Read',
    { name: "reviewer", description: /^Reviews changes\.\n\n<example>\nContext: [\s\S]*<\/example>$/, tools: ["Read"] },
  ),
  sample("unclosed bracket", "name: reviewer\ndescription: [draft Reviews", {
    name: "reviewer",
    description: "[draft Reviews",
  }),
  sample("stars", "name: reviewer\ndescription: **REVIEWS**: everything", {
    name: "reviewer",
    description: "**REVIEWS**: everything",
  }),
  sample("bang", "name: reviewer\ndescription: !important reviews", {
    name: "reviewer",
    description: "!important reviews",
  }),
  sample(
    "name with spaces and non-ASCII letters",
    "name: Prüfer für Änderungen / v2:x\ndescription: Prüft Änderungen.",
    {
      name: "Prüfer für Änderungen / v2:x",
      description: "Prüft Änderungen.",
    },
  ),
  sample("numeric name", "name: 007\ndescription: Licensed.", { name: "007", description: "Licensed." }),
  sample(
    "foreign hooks",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\nhooks:\n  pre: |\n    echo start\n  post: echo end",
    reviewer,
  ),
  sample("comments", "# who\nname: reviewer # short\ndescription: Reviews changes. Use after edits.", reviewer),
  sample(
    "unknown fields",
    "name: reviewer\ndescription: Reviews changes. Use after edits.\nemoji: x\nversion: 1.0.0\nmetadata:\n  author: me\n  tags: [a, b]",
    reviewer,
  ),
];

export type Mutation = (text: string) => Uint8Array | undefined;

/**
 * Functions that write a definition in another form without changing its meaning. They return undefined for text that
 * can't have that form.
 */
export const mutations: Readonly<Record<string, Mutation>> = {
  "byte order mark": (text) => Buffer.from(`\ufeff${text}`),
  CRLF: (text) => Buffer.from(text.replaceAll("\n", "\r\n")),
  CR: (text) => Buffer.from(text.replaceAll("\n", "\r")),
  "UTF-16 LE": (text) => Buffer.from(`\ufeff${text}`, "utf16le"),
  "UTF-16 BE": (text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16(),
  "Windows-1252": (text) => (isLatin1(text) ? Buffer.from(text, "latin1") : undefined),
  "spaces after the opening line": (text) => Buffer.from(text.replace("---\n", "---  \t\n")),
  "spaces after the closing line": (text) => Buffer.from(text.replace("\n---\n", "\n---   \n")),
  "dots as the closing line": (text) => Buffer.from(text.replace("\n---\n", "\n...\n")),
  "many dashes as the closing line": (text) => Buffer.from(text.replace("\n---\n", "\n------------\n")),
  "leading comment": (text) => Buffer.from(`<!-- Copyright\n     somebody -->\n${text}`),
  "leading blank lines": (text) => Buffer.from(`\n \n${text}`),
  "no final newline": (text) => Buffer.from(text.trimEnd()),
  "indented frontmatter": (text) => {
    const end = text.indexOf("\n---\n") + 5;
    return Buffer.from(text.slice(0, end).replace(/^(?=.)/gm, "  ") + text.slice(end));
  },
  "CRLF in Windows-1252": (text) => (isLatin1(text) ? Buffer.from(text.replaceAll("\n", "\r\n"), "latin1") : undefined),
};

function isLatin1(text: string): boolean {
  return /^[\n -~\u00a0-\u00ff]*$/.test(text);
}
