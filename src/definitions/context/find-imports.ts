export interface Import {
  /** As written behind the `@`. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** False: it could be a person's or a package's name as well. */
  readonly surelyPath: boolean;
}

/** `@path` at the start of a word, outside code blocks and code spans. */
export function findImports(text: string): Import[] {
  const found: Import[] = [];
  let fence: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
      continue;
    }
    if (mark !== undefined) {
      fence = mark;
      continue;
    }
    if (/^(?: {4}|\t)/.test(line)) continue;
    for (const path of pathsIn(line)) found.push({ path, line: index + 1, surelyPath: isSurelyPath(path) });
  }
  return found;
}

function pathsIn(line: string): string[] {
  const plain = line.replace(/(`+)(?!`).*?(?<!`)\1(?!`)/g, (span) => " ".repeat(span.length));
  const paths: string[] = [];
  for (const [, written = ""] of plain.matchAll(/(?<=^|[\s([])@([^\s@`"'<>()[\]]+)/g)) {
    const path = written.replace(/[.,;:!?]+$/, "");
    if (path !== "") paths.push(path);
  }
  return paths;
}

function isSurelyPath(path: string): boolean {
  return /^(\.{0,2}\/|~\/)/.test(path) || /\.(md|markdown|txt|mdc)$/i.test(path);
}
