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
 * Returns the part of a path that can make a directory with any name a git repository, whose programs run as soon as a
 * shell enters it.
 */
export function repositoryPart(path: string): string | undefined {
  const names = splitPath(path);
  return names.find((name, index) => {
    const folded = foldName(name);
    return folded.endsWith(".git") || (folded === "head" && index === names.length - 1);
  });
}

/**
 * Returns true if agents follow what the file says without being told to read it. The file changes nothing by itself, so
 * it is not protected, but accepting edits does not mean accepting new instructions.
 */
export function holdsInstructions(path: string): boolean {
  const names = splitPath(path).map(foldName);
  const isBelow = names[0] === ".github" && /^(instructions|prompts|chatmodes|agents)$/.test(names[1] ?? "");
  const base = names.at(-1) ?? "";
  return isBelow || instructionFiles.has(base) || (names.at(-2) === ".github" && base === "copilot-instructions.md");
}

const instructionFiles = new Set([
  ...namesIn("agents.md agents.override.md agents.local.md agent.md claude.md claude.local.md gemini.md qwen.md"),
  ...namesIn("crush.md warp.md .cursorrules .windsurfrules .clinerules .roorules .goosehints .rules .junie.md"),
]);

/**
 * Normalizes a name as file systems may: case, composition, invisible characters, trailing dots and spaces, and stream
 * names.
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

/** Splits a list of names at whitespace. */
function namesIn(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

const protectedDirectories = new Set([
  ...namesIn(".git .hg .jj .sl .ssh .gnupg"),
  // Retinue's own compiled code is in a state directory that may have any name.
  ...namesIn(".retinue retinue-code-cache .claude .agents"),
  // Editors and other agents run tasks, hooks and servers that these directories configure.
  ...namesIn(".vscode .vs .idea .zed .fleet .theia .helix .nova .devcontainer .idx .cursor .windsurf .codex .gemini"),
  ...namesIn(".opencode .kiro .roo .kilocode .cline .clinerules .continue .amazonq .qwen .factory .crush .augment"),
  ...namesIn(".goose .junie .trae .openhands"),
  // Git hook managers.
  ...namesIn(".husky .githooks .git-hooks .lefthook"),
  // CI systems, which start builds on a push.
  ...namesIn(".circleci .buildkite .woodpecker .semaphore .tekton .teamcity .builds .harness .zuul.d"),
  // Package managers and environments that change which programs run.
  ...namesIn(".cargo .yarn .mvn .bundle .direnv .mise .shadowenv.d"),
]);

const protectedPairs = new Set([
  ...namesIn(".config/git .config/fish .config/retinue .config/mise mise/config.toml mise/config.local.toml"),
  ...namesIn(".github/workflows .github/actions .github/hooks .gitea/workflows .forgejo/workflows"),
  // Programs here run instead of installed programs with the same name.
  ...["node_modules/.bin", "tools/bazel", "gradle/wrapper"],
  ...[".venv", "venv", ".env", "env", ".virtualenv", "virtualenv"].flatMap((name) => [
    `${name}/bin`,
    `${name}/scripts`,
  ]),
]);

const protectedFiles = new Set([
  ...namesIn(".mcp.json .gitmodules .gitconfig .gitattributes .hgrc .netrc .ripgreprc"),
  // Startup files of shells, and files that take effect as soon as a shell enters the directory.
  ...namesIn(".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .login .logout"),
  ...namesIn(".zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .envrc .autoenv.zsh"),
  // Version managers run the programs that these files name. Shell prompts and editors start version managers
  // automatically.
  ...namesIn(".tool-versions rust-toolchain rust-toolchain.toml"),
  // Other agents.
  ...namesIn("opencode.json opencode.jsonc crush.json .crush.json .aider.conf.yml"),
  // Files that editors, debuggers and interactive interpreters run.
  ...namesIn(".vimrc _vimrc .gvimrc .exrc _exrc .nvimrc .nvim.lua .lazy.lua .lvimrc .dir-locals.el .dir-locals-2.el"),
  ...namesIn(".gdbinit .gdbearlyinit .lldbinit .pdbrc .rprofile .renviron .ghci .irbrc .pryrc .iex.exs .ocamlinit"),
  ...namesIn(".devcontainer.json .gitpod.yml .replit"),
  // Package managers, whose settings and scripts run programs on every installation.
  ...namesIn(
    "package.json .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.js .pnp.loader.mjs .pnpmfile.cjs .pnpmfile.mjs pnpm-workspace.yaml",
  ),
  ...namesIn("bunfig.toml .bazelrc .bazeliskrc nuget.config"),
  ...namesIn("sitecustomize.py usercustomize.py"),
  // Git hook managers.
  ...namesIn(".pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml captainhook.json grumphp.yml"),
  ...namesIn("prek.toml hk.pkl .rusty-hook.toml"),
]);

const protectedForms: readonly RegExp[] = [
  /\.(code-workspace|sublime-project)$/,
  /^\.?mise(\.[\w-]+)?\.toml$/,
  /^\.?lefthook(-local)?\.(ya?ml|toml|json)$/,
  /^(\.lintstagedrc|lint-staged\.config|\.huskyrc|husky\.config|\.?simple-git-hooks)(\.[a-z]+)?$/,
  /^(\.travis|\.drone|\.woodpecker|\.cirrus|\.?appveyor|\.build|\.?zuul|\.readthedocs)\.ya?ml$/,
  /\.gitlab-ci\.ya?ml$/,
  /^(\.drone|\.cirrus)\.(star|jsonnet)$/,
  /^(azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec|codemagic|bitrise|wercker|screwdriver|amplify)\.ya?ml$/,
  /^jenkinsfile(\.[\w-]+)?$/,
];
