import { basename, join } from "node:path";
import { nameFor } from "../shared/locate.ts";
import { createRecordSplitter } from "./record-splitter.ts";

/** A file or directory that ripgrep could not read. */
export interface Unsearched {
  /** Path relative to the directory of the request; empty for the directory itself. */
  readonly path: string;
  readonly reason: string;
}

export interface UnsearchedOptions {
  /** Absolute path of the directory that was searched. */
  readonly directory: string;
  /** Directory that displayed paths are relative to. */
  readonly root: string;
  readonly hidden: (path: string) => boolean;
}

const maxNamed = 5;

/** Collects unsearched paths, in any order, and writes a note about them. Hidden paths are omitted. */
export function collectUnsearched({ directory, root, hidden }: UnsearchedOptions) {
  let named: string[] = [];
  let count = 0;
  return {
    add({ path, reason }: Unsearched): void {
      const absolute = join(directory, path);
      // Ignore files that were deleted during the search, because the results are complete without them.
      if (reason === "No such file or directory" || unwanted.includes(basename(path)) || hidden(absolute)) return;
      count += 1;
      const name = nameFor(absolute, root).replaceAll("\n", "\\n");
      named = [...named, `${name} (${reason})`].sort().slice(0, maxNamed);
    },
    /** Returns a line to append to the result; empty if everything was searched. */
    note(): string {
      if (count === 0) return "";
      const rest = count > named.length ? ` and ${(count - named.length).toLocaleString("en-US")} more` : "";
      return `\n[Results are incomplete. Could not search: ${named.join(", ")}${rest}.]`;
    },
  };
}

/** Directories of version control systems, whose files are never searched. */
export const unwanted: readonly string[] = [".git", ".hg", ".svn", ".jj"];

/** Parses a message about a file. All paths begin with `./`, because that is how the search is started. */
export function parseFileError(message: string): Unsearched | undefined {
  const [, path, reason] =
    /^rg: \.\/(.*?)(?:: IO error for operation on .*?)?: ([^:]+?)(?: \(os error \d+\))?$/s.exec(message) ?? [];
  return path === undefined || reason === undefined ? undefined : { path, reason };
}

const maxMessageLength = 16_384;

/** Splits the standard error output of ripgrep into messages, each of which can have several lines. */
export function createMessageReader(onMessage: (message: string) => void): ReturnType<typeof createRecordSplitter> {
  let message: string | undefined;
  const flush = (): void => {
    if (message !== undefined) onMessage(message);
    message = undefined;
  };
  const lines = createRecordSplitter(10, (line) => {
    if (line.startsWith("rg: ")) flush();
    message = message === undefined ? line : `${message}\n${line}`.slice(0, maxMessageLength);
  });
  return {
    push: lines.push,
    end() {
      lines.end();
      flush();
    },
  };
}
