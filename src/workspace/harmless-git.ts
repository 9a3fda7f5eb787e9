import { existsSync, lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createId } from "../lib/index.ts";
import { codeOf } from "./files/file-stat.ts";
import { addGitConfiguration, STANDARD_PATH } from "./scrub-environment.ts";

export interface HarmlessGit {
  readonly environment: Readonly<Record<string, string>>;
  /** Directory that contains Retinue's own `git` and comes first in PATH. */
  readonly directory: string;
}

/**
 * Changes an environment so that git runs no program that a repository configures, for commands that are allowed only
 * because they are read-only. Settings with fixed names are overridden by variables. Others, such as
 * `filter.NAME.clean`, must be looked up in the repository that git finds, so Retinue's own `git` does that before it
 * starts the real one.
 */
export function harmlessGit(environment: Readonly<Record<string, string>>): HarmlessGit {
  const directory = directoryOfGit();
  const path = environment["PATH"] ?? STANDARD_PATH;
  return {
    directory,
    environment: {
      ...addGitConfiguration(environment, fixedSettings),
      ...variables,
      // The name is random, because a repository can define the program for any protocol whose name it knows.
      GIT_ALLOW_PROTOCOL: `none-${createId()}`,
      PATH: `${directory}${delimiter}${path}`,
    },
  };
}

const variables = {
  GIT_EDITOR: "false",
  GIT_SEQUENCE_EDITOR: "false",
  GIT_ASKPASS: "false",
  SSH_ASKPASS: "false",
  GIT_SSH_COMMAND: "false",
  // Prevents fetching in a partial clone.
  GIT_NO_LAZY_FETCH: "1",
};

const fixedSettings: readonly (readonly [key: string, value: string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["core.alternateRefsCommand", "true"],
  ["core.sshCommand", "false"],
  // An empty value removes helpers that were configured earlier.
  ["credential.helper", ""],
  ["gpg.program", "false"],
  ["gpg.openpgp.program", "false"],
  ["gpg.x509.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.ssh.defaultKeyCommand", ""],
  ["interactive.diffFilter", "cat"],
  ["protocol.allow", "never"],
  ["protocol.ext.allow", "never"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  // A submodule has its own configuration, which may name programs.
  ["submodule.recurse", "false"],
  ["diff.ignoreSubmodules", "dirty"],
  ["diff.submodule", "short"],
  ["status.submoduleSummary", "false"],
];

let created: string | undefined;

/**
 * Removes the directories of processes that were killed. If one of these processes is still running in a container,
 * under a different id, it creates its directory again when needed.
 */
function sweepLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(/^retinue-git-(\d+)-/.exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) removeLeftover(join(tmpdir(), name));
  }
}

/**
 * Removes a directory as this user creates it, with nothing in it but `git`. Others can write to the temporary
 * directory, so nothing is removed recursively: while that runs, they could replace a directory with a symlink.
 */
function removeLeftover(directory: string): void {
  try {
    const { uid, mode } = lstatSync(directory);
    if (uid !== (process.geteuid?.() ?? uid) || (mode & 0o077) !== 0) return;
    rmSync(join(directory, "git"), { force: true });
    rmdirSync(directory);
  } catch {
    // Not such a directory, or another process is removing it at the same time.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Returns the directory of Retinue's own `git`, which all workspaces in this process share. */
function directoryOfGit(): string {
  if (created !== undefined && existsSync(join(created, "git"))) return created;
  sweepLeftovers();
  const directory = mkdtempSync(join(tmpdir(), `retinue-git-${process.pid}-`));
  writeFileSync(join(directory, "git"), script, { mode: 0o500 });
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  created = directory;
  return directory;
}

/**
 * Settings that name programs and whose own names a repository can choose, and settings that name files at any path.
 * The names are spelled as git prints them.
 */
const chosenSettings = [
  "diff\\.external",
  "diff\\..*\\.(command|textconv|cachetextconv)",
  "filter\\..*\\.(clean|smudge|process|required)",
  "(merge\\..*\\.driver|tar\\..*\\.command|trailer\\..*\\.(command|cmd)|gpg\\..*\\.program|credential\\..*\\.helper)",
  "(man|browser|difftool|mergetool)\\..*\\.(cmd|path)",
  "alias\\..*",
  "core\\.(worktree|attributesfile|excludesfile)",
  "(mailmap\\.file|diff\\.orderfile|blame\\.ignorerevsfile)",
].join("|");

/**
 * The user's and the system's configuration is not changed. If a repository configures its own diff program, a plain
 * diff is shown instead. The script runs only system programs and shell builtins.
 */
const script = `#!/bin/sh
own=\${0%/*}
git=
rest=$PATH:
while [ -n "$rest" ]; do
  directory=\${rest%%:*}
  rest=\${rest#*:}
  if [ "$directory" != "$own" ] && [ -f "$directory/git" ] && [ -x "$directory/git" ]; then
    git=$directory/git
    break
  fi
done
if [ -z "$git" ]; then
  echo 'git: command not found' >&2
  exit 127
fi

# The options before the subcommand decide which repository is used.
options=
index=0
takes=
subcommand=
for word do
  index=$((index + 1))
  if [ -n "$takes" ]; then
    takes=
  else
    case $word in
      -C | -c | --git-dir | --work-tree | --namespace | --config-env | --super-prefix | --attr-source) takes=1 ;;
      -*) ;;
      *)
        subcommand=$word
        break
        ;;
    esac
  fi
  options="$options \\"\\\${$index}\\""
done
[ -n "$subcommand" ] || exec "$git" "$@"

# In other locales, "." and "*" do not match bytes that are not valid characters, but a name may contain any byte.
locale=\${LC_ALL-unset}
export LC_ALL=C
refuse() {
  echo "git: $1 To use git here anyway, the user can add an ask rule for the command and approve it." >&2
  exit 128
}

# A repository elsewhere must refer back to this working tree, because anyone can write a file that points to it.
absolute() {
  case $2 in
    /*) path=$2 ;;
    *) path=$1/$2 ;;
  esac
}
knows_tree() {
  read -r word name < "$1/.git" && [ "$word" = gitdir: ] || return 1
  absolute "$1" "$name"
  own=$path
  if [ -f "$own/commondir" ]; then
    read -r name < "$own/commondir" && absolute "$own" "$name" && [ "$path" -ef "$own/../.." ] || return 1
    read -r name < "$own/gitdir" && absolute "$own" "$name" && [ "$path" -ef "$1/.git" ]
  else
    name=$("$git" config --file "$own/config" core.worktree) && absolute "$own" "$name" && [ "$path" -ef "$1" ]
  fi
}
tree=$(pwd -P)
while [ -n "$tree" ] && [ ! -e "$tree/.git" ] && [ ! -L "$tree/.git" ]; do tree=\${tree%/*}; done
elsewhere="The repository is elsewhere, in a directory that $tree/.git names, and does not refer to $tree."
if [ -L "$tree/.git" ]; then refuse "$elsewhere"; fi
if [ -d "$tree/.git" ] && [ -e "$tree/.git/commondir" ]; then refuse "$elsewhere"; fi
if [ -f "$tree/.git" ] && ! knows_tree "$tree"; then refuse "$elsewhere"; fi
# Git passes over an incomplete repository and uses one above it, which has not been checked.
if [ -d "$tree/.git" ] && [ -z "$options" ]; then
  found=$("$git" rev-parse --absolute-git-dir 2>/dev/null)
  if [ -n "$found" ] && ! [ "$found" -ef "$tree/.git" ]; then
    refuse "The repository is elsewhere, in a directory above $tree, because $tree/.git is incomplete."
  fi
fi

settings=$(eval "\\"\\$git\\" $options config --show-scope --includes --name-only --get-regexp '^(${chosenSettings})\\$'" 2>/dev/null)
[ $? -le 1 ] || refuse "The repository's configuration could not be read."

replace() {
  export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=$1" "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=$2"
  export GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
}
GIT_CONFIG_COUNT=\${GIT_CONFIG_COUNT:-0}
plain='show() { printf "diff --git a/%s b/%s\\n" "$1" "$1"; diff -u --label "a/$1" --label "b/$1" "$2" "$5"; :; }; show'
tab=$(printf '\\t')
while IFS=$tab read -r scope key; do
  case $scope in system | global | command | '') continue ;; esac
  case $key in
    core.worktree)
      top=$(eval "\\"\\$git\\" $options rev-parse --show-toplevel" 2>/dev/null)
      [ -e "$top/.git" ] || refuse "core.worktree leads to $top, which is not the working tree of the repository."
      ;;
    core.attributesfile | core.excludesfile | mailmap.file | diff.orderfile) replace "$key" /dev/null ;;
    blame.ignorerevsfile)
      # Git quotes the file in an error message, and no other value of this setting prevents that.
      case $subcommand in blame | annotate) ;; *) continue ;; esac
      named=$(eval "\\"\\$git\\" $options config --show-scope --get-all $key" 2>/dev/null | grep -v "^\\(system\\|global\\)$tab")
      [ "$named" = "$scope$tab.git-blame-ignore-revs" ] && [ ! -L "$tree/.git-blame-ignore-revs" ] ||
        refuse 'blame.ignoreRevsFile names a file other than .git-blame-ignore-revs.'
      ;;
    diff.external | diff.*.command) replace "$key" "$plain" ;;
    diff.*.textconv | tar.*.command) replace "$key" cat ;;
    filter.*.required | diff.*.cachetextconv) replace "$key" false ;;
    filter.* | credential.* | alias.*) replace "$key" '' ;;
    trailer.*) replace "$key" true ;;
    *) replace "$key" false ;;
  esac
done <<END
$settings
END
if [ "$locale" = unset ]; then unset LC_ALL; else LC_ALL=$locale; fi

# To compare the files of a submodule, git would use the configuration of the submodule. .gitmodules can ask for that,
# and only an option overrides it.
case $subcommand in
  status | diff | diff-files | diff-index)
    count=0
    for word do
      count=$((count + 1))
      [ "$count" -gt 1 ] || set --
      set -- "$@" "$word"
      [ "$count" -ne "$index" ] || set -- "$@" --ignore-submodules=dirty
    done
    ;;
esac
exec "$git" "$@"
`;
