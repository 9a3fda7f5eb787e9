import { formatCount, plural } from "../../lib/index.ts";
import type { HistoryRequest } from "../job-request.ts";
import { type CallResult, callAll, callTools, git, type Job, quote } from "./job.ts";
import { clip, compose, firstOf, rows, type Section } from "./report.ts";

/** Reports the newest commits: their kinds, areas and authors, and the files that change most often. */
export function* gitHistory({ path, commits: count }: HistoryRequest): Job {
  const { log, changes, status } = yield* callTools("Reading the git history", {
    log: git(`log -n ${count} --date=short --format=%h%x09%ad%x09%an%x09%s -- ${quote(path)}`),
    changes: git(`log -n ${count} --numstat --format=%h -- ${quote(path)}`),
    status: git("status --short --branch"),
  });
  const commits = parseCommits(log.text);
  if (commits.length === 0) {
    const lines = [`- ${whyNoHistory(log)}`];
    return {
      kind: "report",
      text: compose("Git history", [{ heading: "Commits", lines }]),
      reported: [log, changes, status],
    };
  }
  const newest = commits.slice(0, 3).map(({ hash }) => hash);
  const [details] = yield* callAll("Looking at the newest commits", [
    git(`show --stat=90 --format=%h%x09%s ${newest.join(" ")}`),
  ]);
  const oldest = commits.at(-1);
  const title = `${plural(commits.length, "commit")} in ${path === "." ? "this repository" : path}, ${oldest?.date} to ${commits[0]?.date}`;
  const text = compose(title, [
    { heading: "Commits, newest first", lines: commitLines(commits) },
    kindSection(commits),
    {
      heading: "By author",
      lines: firstOf(
        rows(counted(commits.map(({ author }) => author)).map(([author, times]) => [author, plural(times, "commit")])),
        6,
      ),
    },
    { heading: "Files changed most", lines: fileLines(changes) },
    { heading: "Newest commits in detail", lines: detailLines(details) },
    { heading: "Now", lines: statusLines(status) },
  ]);
  return { kind: "report", text };
}

function commitLines(commits: readonly Commit[]): string[] {
  const lines = rows(
    commits.map(({ hash, date, author, subject }) => [hash, date, clip(author, 20), clip(subject, 90)]),
  );
  return firstOf(lines, 20);
}

/** Groups commits by the prefix of `type(area): subject` if most commits have one, otherwise by their first word. */
function kindSection(commits: readonly Commit[]): Section {
  const marks = commits.flatMap(({ subject }) => {
    const match = /^(\w+)(?:\(([^)]+)\))?!?: /.exec(subject);
    return match ? [{ type: match[1] ?? "", area: match[2] ?? "" }] : [];
  });
  if (marks.length * 2 < commits.length) {
    const firstWords = counted(commits.map(({ subject }) => (subject.split(/[\s:]/)[0] ?? "").toLowerCase()));
    return { heading: "By first word", lines: [`- ${listed(firstWords)}`] };
  }
  const types = counted(marks.map(({ type }) => type));
  const areas = counted(marks.flatMap(({ area }) => (area === "" ? [] : [area])));
  const lines = [`- kinds: ${listed(types)}`];
  if (areas.length > 0) lines.push(`- areas: ${listed(areas)}`);
  return { heading: "By kind and area", lines };
}

function listed(values: readonly (readonly [string, number])[]): string {
  const more = values.length > 12 ? ` and ${formatCount(values.length - 12)} more` : "";
  const shown = values.slice(0, 12).map(([value, times]) => `${value} ${times}`);
  return `${shown.join(", ")}${more}`;
}

/** Counts how often each value occurs. Sorts by frequency, most frequent first, then by name. */
function counted(values: readonly string[]): [string, number][] {
  const found = new Map<string, number>();
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1);
  return [...found].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
}

function fileLines(changes: CallResult): string[] {
  const files = new Map<string, { times: number; added: number; removed: number }>();
  for (const line of changes.ok ? changes.text.split("\n") : []) {
    const match = /^(\d+|-)\t(\d+|-)\t(.+)$/.exec(line);
    if (!match?.[3]) continue;
    const file = files.get(match[3]) ?? { times: 0, added: 0, removed: 0 };
    file.times += 1;
    file.added += Number(match[1]) || 0;
    file.removed += Number(match[2]) || 0;
    files.set(match[3], file);
  }
  const sorted = [...files].sort(
    ([leftName, left], [rightName, right]) =>
      right.times - left.times ||
      right.added + right.removed - left.added - left.removed ||
      (leftName < rightName ? -1 : 1),
  );
  const shown = sorted
    .slice(0, 8)
    .map(([name, { times, added, removed }]) => [
      name,
      plural(times, "commit"),
      `+${formatCount(added)} -${formatCount(removed)}`,
    ]);
  const lines = rows(shown);
  if (sorted.length > shown.length) lines.push(`- and ${formatCount(sorted.length - shown.length)} more`);
  if (changes.ok && /\[(?:To see the full output|…|The whole result)/.test(changes.text))
    lines.push("- the list of changes was truncated; only the part that was shown is counted");
  return lines;
}

function detailLines(result: CallResult | undefined): string[] {
  if (!result?.ok) return [];
  const lines: string[] = [];
  let shown = 0;
  for (const line of result.text.split("\n")) {
    const head = /^([0-9a-f]{4,40})\t(.*)$/.exec(line);
    if (head) {
      lines.push(`- ${head[1]} ${clip(head[2] ?? "", 100)}`);
      shown = 0;
    } else if (/\|/.test(line) && shown < 4) {
      lines.push(`  ${line.trim()}`);
      shown += 1;
    } else if (/^ \d+ files? changed/.test(line)) lines.push(`  ${line.trim()}`);
  }
  return lines;
}

function statusLines(status: CallResult): string[] {
  if (!status.ok) return [];
  const [branch = "", ...changes] = status.text.split("\n").filter((line) => /^(##|.. \S)/.test(line));
  const lines = [`- branch ${clip(branch.replace(/^## /, ""), 80)}`];
  if (changes.length === 0) return [...lines, "- nothing uncommitted"];
  return [
    ...lines,
    `- ${plural(changes.length, "uncommitted path")}: ${clip(changes.map((line) => line.slice(3)).join(", "), 160)}`,
  ];
}

export interface Commit {
  readonly hash: string;
  readonly date: string;
  readonly author: string;
  readonly subject: string;
}

/** Parses the output of `git log --format=%h%x09%ad%x09%an%x09%s --date=short`. */
export function parseCommits(text: string): Commit[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([0-9a-f]{4,40})\t(\d{4}-\d\d-\d\d)\t([^\t]*)\t(.*)$/.exec(line);
    if (!match) return [];
    return [{ hash: match[1] ?? "", date: match[2] ?? "", author: match[3] ?? "", subject: match[4] ?? "" }];
  });
}

export function whyNoHistory({ ok, text }: CallResult): string {
  if (/not a git repository/.test(text)) return "none: this is not a git repository";
  if (/does not have any commits/.test(text)) return "none: the git repository has no commits yet";
  if (ok) return "none: git reports no commits here";
  return `could not be read: ${clip(text, 300)}`;
}
