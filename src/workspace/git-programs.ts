import { existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isNetworkRepository } from "../lib/index.ts";
import type { GitPrograms } from "../protocol/index.ts";

/**
 * Finds a configuration file in a directory's repository that names programs: those that git runs even in read-only
 * commands, or else those that it runs only in commands that change something, or that start programs in
 * another way. Does not run git.
 */
export function findGitPrograms(directory: string): GitPrograms | undefined {
  const files = gitConfigurations(directory);
  const file = files.find(namesPrograms);
  if (file !== undefined) return { file, checked: !isBlocking(file) };
  const other = files.find((each) => !isHarmless(readText(each) ?? "")) ?? otherPrograms(directory)[0];
  return other === undefined ? undefined : { file: other, checked: true, onlyChanges: true };
}

/**
 * Returns a configuration file that names programs which commands that read can run, unless Retinue's own `git` prevents
 * it. Besides those of `findGitPrograms`, these are the programs with which git fetches missing objects and verifies
 * signatures.
 */
export function programsWhenReading(directory: string): string | undefined {
  return gitConfigurations(directory).find((file) => {
    if (namesPrograms(file)) return true;
    const text = readText(file) ?? "";
    const fetches = /partialclone|promisor/i.test(text) && !isHarmless(text.replace(partialClone, ""));
    return fetches || (/\[\s*gpg\b/i.test(text) && /\b(?:program|defaultkeycommand)\b/i.test(text));
  });
}

/** Matches the settings that `git clone --filter` writes. */
const partialClone = /^[ \t]*(?:partialclone|promisor|partialclonefilter)[ \t]*=.*$/gim;

/** Returns the repository's own configuration files that git may read in this directory. */
function gitConfigurations(cwd: string): readonly string[] {
  return gitDirectories(cwd).flatMap((found) => {
    const commonLink = join(found, "commondir");
    const common = readText(commonLink)?.replace(lineEnd, "");
    const shared = common ? resolve(found, common) : found;
    return [join(shared, "config"), join(shared, "config.worktree"), join(found, "config.worktree"), commonLink];
  });
}

/** Returns hooks, and files that name remotes or the commands of an unfinished rebase. */
function otherPrograms(cwd: string): readonly string[] {
  const repositories = [...new Set(gitConfigurations(cwd).map((path) => dirname(path)))];
  return repositories.flatMap((each) => [
    ...hooksIn(each),
    ...remoteFiles(each),
    ...[runningTodo(each)].filter((todo) => todo !== undefined),
  ]);
}

function hooksIn(repository: string): readonly string[] {
  return pathsIn(join(repository, "hooks")).filter(
    (path) => !path.endsWith(".sample") && ((statAt(path)?.mode ?? 0) & 0o111) !== 0,
  );
}

/** Returns files in which git looks for remotes that the configuration does not name. */
export function remoteFiles(repository: string): readonly string[] {
  return ["remotes", "branches"].flatMap((name) => pathsIn(join(repository, name)));
}

/** Returns the list of an unfinished rebase's steps if it contains commands, or can't be read. */
export function runningTodo(repository: string): string | undefined {
  const file = join(repository, "rebase-merge/git-rebase-todo");
  if (statAt(file) === undefined) return undefined;
  return /^[ \t]*(x|exec)\b/m.test(readText(file) ?? "exec") ? file : undefined;
}

/** Returns the repository that git finds, preceded by directories that git passes over because they are incomplete. */
function gitDirectories(directory: string): readonly string[] {
  const path = join(directory, ".git");
  const stat = statAt(path);
  const above = dirname(directory);
  const further = (): readonly string[] => (above === directory ? [] : gitDirectories(above));
  if (stat?.isDirectory()) return isRepository(path) ? [path] : [path, ...further()];
  const [, elsewhere] = (stat?.isFile() && /^gitdir: ?(.+)$/s.exec(readText(path)?.replace(lineEnd, "") ?? "")) || [];
  if (elsewhere !== undefined) return [resolve(directory, elsewhere)];
  if (isRepository(directory)) return [directory];
  return existsSync(join(directory, "HEAD")) ? [directory, ...further()] : further();
}

/** Git removes nothing else from the end of a path in a file. */
const lineEnd = /(?<![\r\n])[\r\n]+$/;

function isRepository(directory: string): boolean {
  return ["HEAD", "objects", "refs"].every((name) => existsSync(join(directory, name)));
}

/**
 * Returns true if a configuration file may name programs. Searches the whole text for keywords regardless of syntax,
 * because a false alarm is better than a miss.
 */
function namesPrograms(file: string): boolean {
  if (isBlocking(file)) return true;
  const text = readText(file)?.replace(lfsFilter, "") ?? "";
  return dangerousKeywords.some((keywords) => keywords.every((keyword) => keyword.test(text)));
}

/** Matches filter lines that git-lfs itself writes. */
const lfsFilter =
  /^[ \t]*(?:clean|smudge|process)[ \t]*=[ \t]*git-lfs (?:clean -- %f|smudge(?: --skip)? -- %f|filter-process(?: --skip)?)\s*$/gm;

const dangerousKeywords: readonly (readonly RegExp[])[] = [
  [/\[\s*include/i],
  [/\[\s*filter/i, /\b(?:clean|smudge|process|customtransfer)\b/i],
  [/\[\s*diff/i, /\b(?:textconv|command|external)\b/i],
];

/**
 * Returns true if all settings in a configuration file are listed here. Other settings may name programs that git runs
 * in commands that change something, or files outside the working tree.
 */
function isHarmless(text: string): boolean {
  // A backslash continues a line, and git treats a carriage return as a space.
  if (/\\\r?$|\r(?!\n)/m.test(text)) return false;
  let section = "";
  for (const line of text.replace(lfsFilter, "").split(/\r?\n/)) {
    let rest = line.replace(/^\ufeff/, "").trimStart();
    for (let header = sectionHeader.exec(rest); header !== null; header = sectionHeader.exec(rest)) {
      [section = ""] = header[1]!.toLowerCase().split(".");
      rest = rest.slice(header[0].length).trimStart();
    }
    if (rest === "" || /^[#;]/.test(rest)) continue;
    const [, key = "", value = ""] = /^([A-Za-z][\w-]*)[ \t]*(?:=(.*))?$/.exec(rest) ?? [];
    const setting = `${section}.${key.toLowerCase()}`;
    if (addresses.has(setting) && !isNetworkRepository(value.trim().replace(/^"|"$/g, ""))) return false;
    if (key === "" || !(harmlessSettings.has(setting) || harmlessSections.has(section))) return false;
  }
  return true;
}

const sectionHeader = /^\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?[ \t]*\]/;

const addresses: ReadonlySet<string> = new Set(["remote.url", "remote.pushurl", "submodule.url"]);

const harmlessSections: ReadonlySet<string> = new Set(["advice", "color", "column", "author", "committer"]);

const harmlessSettings: ReadonlySet<string> = new Set(
  Object.entries({
    apply: "whitespace",
    branch:
      "remote merge rebase description pushremote autosetuprebase autosetupmerge sort vscode-merge-base gh-merge-base github-pr-owner-number",
    checkout: "defaultremote guess workers",
    commit: "gpgsign verbose status cleanup",
    core: "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf abbrev compression loosecompression untrackedcache preloadindex sharedrepository quotepath trustctime longpaths protecthfs protectntfs splitindex sparsecheckout sparsecheckoutcone commentchar whitespace bigfilethreshold checkstat multipackindex commitgraph fscache fsync fsyncmethod warnambiguousrefs deltabasecachelimit packedgitlimit packedgitwindowsize",
    diff: "algorithm renames renamelimit colormoved colormovedws mnemonicprefix noprefix context interhunkcontext wserrorhighlight indentheuristic",
    extensions: "worktreeconfig objectformat refstorage preciousobjects relativeworktrees",
    feature: "manyfiles experimental",
    fetch: "prune prunetags parallel writecommitgraph output all",
    // The programs of filters are looked for elsewhere.
    filter: "required",
    gc: "auto autopacklimit reflogexpire reflogexpireunreachable pruneexpire worktreepruneexpire autodetach bigpackthreshold",
    grep: "linenumber column patterntype extendedregexp threads",
    http: "extraheader version postbuffer",
    i18n: "commitencoding logoutputencoding",
    index: "version threads sparse",
    init: "defaultbranch",
    lfs: "repositoryformatversion access locksverify",
    log: "date decorate follow abbrevcommit",
    maintenance: "auto strategy",
    merge: "ff conflictstyle log renames renamelimit directoryrenames stat autostash",
    pack: "threads windowmemory window depth compression usebitmaps usesparse",
    pull: "rebase ff",
    push: "default autosetupremote followtags useforceifincludes",
    rebase: "autostash autosquash updaterefs stat abbreviatecommands missingcommitscheck",
    remote: "url pushurl fetch push tagopt prune prunetags mirror skipdefaultupdate skipfetchall gh-resolved",
    rerere: "enabled autoupdate",
    stash: "showpatch showstat showincludeuntracked",
    status: "showuntrackedfiles branch short relativepaths showstash aheadbehind renames",
    submodule: "active url branch ignore shallow fetchrecursesubmodules",
    tag: "sort gpgsign",
    user: "name email signingkey useconfigonly",
    worktree: "guessremote",
  }).flatMap(([section, keys]) => keys.split(" ").map((key) => `${section}.${key}`)),
);

/** Returns true if `.gitmodules` overrides the setting with which Retinue keeps git from fetching in submodules. */
export function mayFetchSubmodules(top: string): boolean {
  const file = join(top, ".gitmodules");
  return statAt(file) !== undefined && /fetchrecurse|\\/i.test(readText(file) ?? "\\");
}

function pathsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function readText(file: string): string | undefined {
  try {
    return isBlocking(file) ? undefined : readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns true if reading a file could take forever: a pipe, a device, or a huge file. */
function isBlocking(file: string): boolean {
  const stat = statAt(file);
  return stat !== undefined && (!stat.isFile() || stat.size > MAX_BYTES);
}

const MAX_BYTES = 1024 * 1024;

function statAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
