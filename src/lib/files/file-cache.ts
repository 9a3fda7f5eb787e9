import { statSync } from "node:fs";

interface Kept {
  readonly size: number;
  readonly modifiedAt: number;
  readonly inode: number;
  readonly value: unknown;
}

/** Caches values that were read from files until the files change. */
export class FileCache {
  private readonly kept = new Map<string, Kept>();

  /** Returns the cached value for this file. Calls `read` first if the file is not in the cache or has changed. */
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
