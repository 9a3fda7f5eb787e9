import type { Seen } from "./job.ts";
import { clip } from "./report.ts";

export interface Commit {
  readonly hash: string;
  readonly date: string;
  readonly author: string;
  readonly subject: string;
}

/** Lines of `git log --format=%h%x09%ad%x09%an%x09%s --date=short`. */
export function parseCommits(text: string): Commit[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([0-9a-f]{4,40})\t(\d{4}-\d\d-\d\d)\t([^\t]*)\t(.*)$/.exec(line);
    if (!match) return [];
    return [{ hash: match[1] ?? "", date: match[2] ?? "", author: match[3] ?? "", subject: match[4] ?? "" }];
  });
}

export function whyNoHistory({ ok, text }: Seen): string {
  if (/not a git repository/.test(text)) return "none: this is not a git repository";
  if (/does not have any commits/.test(text)) return "none: the git repository has no commits yet";
  if (ok) return "none: git tells of no commits here";
  return `not seen: ${clip(text, 300)}`;
}
