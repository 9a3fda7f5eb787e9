interface NamedDirectory {
  readonly name: string;
  readonly root: string;
}

/** Replaces directories on the server's machine with their names, in messages for clients. */
export function withoutPaths(message: string, directories: readonly NamedDirectory[]): string {
  return directories.reduce((text, { name, root }) => {
    const escaped = root.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const found = new RegExp(`(?<![\\w./-])${escaped}(?![\\w-]|\\.\\w)(?:/([\\w./-]*[\\w/-]))?`, "g");
    return text.replace(found, (_, inside?: string) => (inside === undefined ? name : `${inside} in ${name}`));
  }, message);
}
