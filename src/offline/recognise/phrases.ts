// Parts of sentences, from which the recognisers build theirs.

const quotedText = String.raw`\x60[^\x60]+\x60|"[^"]+"|'[^']+'`;

export const quoted = `(?<text>${quotedText})`;

/** "the function", "all classes": what stands before a name. */
export const subject =
  "(?:the |a |an |all |every |our |this )*(?:(?:function|method|class|type|interface|struct|enum|trait|constant|variable|symbol|identifier|macro|module|component|const|var|word|name)(?:s|es)? )?";

export const name = String.raw`(?<name>${quotedText}|[\w$@#.:~-]+(?:\(\))?)`;

/** "in src/lib", at the end of a sentence. */
export const place = String.raw`(?: (?:in|inside|within|under|below|of|from) (?:the )?(?:file |directory |folder )?(?<path>${quotedText}|[\w@~./-]+))?`;

/** What can only be a path: quoted, or with a dot or a slash in it. */
export const path = String.raw`${quotedText}|[\w@~.-]*[./][\w@~./-]*|README|LICENSE|Makefile|Dockerfile`;

export function sentence(source: string): RegExp {
  return new RegExp(`^${source}$`, "i");
}

export function unquote(text: string): string {
  return text.replace(/^[\x60"']|[\x60"']$/g, "");
}

/** A path as the tools take it: no slash or sentence mark at its end; "this project" is the workspace. */
export function pathOf(text: string | undefined): string {
  const found = unquote(text ?? "")
    .replace(/(?<=.)[/,;:]+$/, "")
    .replace(/^\.\//, "");
  return found === "" || isWhole(found) ? "." : found;
}

export function isWhole(word: string): boolean {
  return /^(this|that|the|it|repo|repository|project|code|codebase|everything|workspace|directory|folder|package|app|application|here|structure|architecture|layout)$/i.test(
    word,
  );
}

/** Words that name nothing in a repository. */
export function isPronoun(word: string): boolean {
  return /^(it|this|that|they|them|there|here|everything|something|bugs?|errors?|problems?|out|me|you|us|all)$/i.test(
    word,
  );
}
