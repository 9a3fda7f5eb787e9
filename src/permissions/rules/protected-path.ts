import { splitPath } from "./path-pattern.ts";

/**
 * Returns the part of a relative path that makes it protected; undefined if no part does. Protected files change what
 * is permitted, or take effect without the user starting anything: when an editor opens the directory, a shell enters
 * it, git commits or a push starts a build. Source files, tests and Makefiles, which run only on request, are not
 * protected.
 */
export function protectedPart(path: string): string | undefined {
  const names = splitPath(path);
  const folded = names.map(foldName);
  const directory = folded.findIndex((name) => protectedDirectories.has(name));
  if (directory !== -1) return names[directory];
  for (let index = 0; index + 1 < folded.length; index += 1) {
    if (protectedPairs.has(`${folded[index]}/${folded[index + 1]}`)) return `${names[index]}/${names[index + 1]}`;
  }
  const base = folded.at(-1) ?? "";
  const isProtected = protectedFiles.has(base) || protectedForms.some((form) => form.test(base));
  // Python runs these files whenever it starts.
  const isStartup = base.endsWith(".pth") && folded.includes("site-packages");
  return isProtected || isStartup ? names.at(-1) : undefined;
}

/**
 * Normalises a name as file systems may: case, composition, invisible characters, trailing dots and spaces, streams.
 */
function foldName(name: string): string {
  const plain = name.normalize("NFC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const [first = ""] = plain.toUpperCase().toLowerCase().split(":");
  const trimmed = first.replace(/(?<![. ])[. ]+$/, "");
  return shortNames.get(trimmed) ?? trimmed;
}

const shortNames = new Map([
  ["git~1", ".git"],
  ["claude~1", ".claude"],
  ["retinu~1", ".retinue"],
  ["agents~1", ".agents"],
]);

/** Splits a list of names at white space. */
function namesIn(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

const protectedDirectories = new Set([
  ...namesIn(".git .hg .ssh .gnupg"),
  // Retinue's own compiled code is in a state directory that may have any name.
  ...namesIn(".retinue retinue-code-cache .claude .agents"),
  // Editors, and other agents inside them, run tasks and servers that these directories configure.
  ...namesIn(".vscode .idea .zed .fleet .devcontainer .idx .cursor .windsurf .codex .gemini .opencode"),
  // Git hook managers.
  ...namesIn(".husky .githooks .lefthook"),
  // CI systems, which start builds on a push.
  ...namesIn(".circleci .buildkite .woodpecker"),
  // Package managers and environments that change which programs run.
  ...namesIn(".cargo .yarn .direnv .shadowenv.d"),
]);

const protectedPairs = new Set([
  ...namesIn(".config/git .config/fish .config/retinue .config/mise"),
  ...namesIn(".github/workflows .github/actions .gitea/workflows .forgejo/workflows"),
  // Programs that run in place of others with the same name.
  ...namesIn("node_modules/.bin .venv/bin venv/bin .venv/scripts venv/scripts"),
]);

const protectedFiles = new Set([
  ...namesIn(".mcp.json .gitmodules .gitconfig .gitattributes .hgrc .netrc .ripgreprc"),
  // Startup files of shells, and files that take effect as soon as a shell enters the directory.
  ...namesIn(".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .login .logout"),
  ...namesIn(".zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .envrc"),
  // Editors and debuggers.
  ...namesIn(".vimrc .exrc .nvimrc .nvim.lua .lvimrc .dir-locals.el .dir-locals-2.el .gdbinit .lldbinit .rprofile"),
  ...namesIn(".devcontainer.json .gitpod.yml .replit"),
  // Package managers, whose settings and scripts run programs on every installation.
  ...namesIn("package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml .bazelrc"),
  ...namesIn("sitecustomize.py usercustomize.py"),
  // Git hook managers.
  ...namesIn(".pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml captainhook.json grumphp.yml"),
]);

const protectedForms: readonly RegExp[] = [
  /\.code-workspace$/,
  /^\.?mise(\.[\w-]+)?\.toml$/,
  /^\.?lefthook(-local)?\.(ya?ml|toml|json)$/,
  /^(\.lintstagedrc|lint-staged\.config|\.huskyrc|husky\.config|\.?simple-git-hooks)(\.[a-z]+)?$/,
  /^(\.gitlab-ci|\.travis|\.drone|\.woodpecker|\.cirrus|\.?appveyor)\.ya?ml$/,
  /^(azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec)\.ya?ml$/,
  /^jenkinsfile(\.[\w-]+)?$/,
];
