import { statSync } from "node:fs";

interface Kept {
  readonly size: number;
  readonly modifiedAt: number;
  readonly inode: number;
  readonly value: unknown;
}

/** Keeps what was read from files until they change, for programs that look at the same files again and again. */
export class FileCache {
  private readonly kept = new Map<string, Kept>();

  /** Returns what `read` returned for this file, and calls it again only if the file has changed. */
  get<Value>(path: string, read: () => Value): Value {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) {
      this.kept.delete(path);
      return read();
    }
    const { size, mtimeMs: modifiedAt, ino: inode } = stat;
    const known = this.kept.get(path);
    if (known?.size === size && known.modifiedAt === modifiedAt && known.inode === inode) return known.value as Value;
    const value = read();
    this.kept.set(path, { size, modifiedAt, inode, value });
    return value;
  }
}
