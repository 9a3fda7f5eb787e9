import type { ShellWord } from "./shell-word.ts";

/**
 * Returns true for variables that may be set for a program because they change only the appearance or language of its
 * output.
 */
export function isSafeExport(name: string, value: ShellWord | undefined): boolean {
  if (value === undefined || value.open !== undefined) return false;
  const allowed = harmless.get(name) ?? (/^LC_[A-Z]{3,20}$/.test(name) ? plainValue : undefined);
  return allowed?.test(value.text) ?? false;
}

/**
 * Returns true for a variable that only the script itself uses. Names of lowercase letters and digits mean nothing to
 * bash or to programs, unlike `http_proxy` and `npm_config_…`, and the analysis lets their values be used only as data.
 */
export function isLocalName(name: string): boolean {
  return /^[a-z][a-z0-9]{0,30}$/.test(name) && name !== "histchars";
}

/** Returns true for variables that decide which program a name refers to, or how the shell treats text. */
export function steersShell(name: string): boolean {
  return /^(PATH|ENV|IFS|PS\d|CDPATH|GLOBIGNORE|SHELLOPTS|PROMPT_COMMAND|EXECIGNORE|BASH.*|LD_.*|DYLD_.*)$/.test(name);
}

/**
 * Returns true if a variable that is set for a command makes it unknown what the command runs. The variable may decide
 * what the names of programs or subcommands mean, or name a program in a way that only the shell knows.
 */
export function hidesPrograms(setting: string): boolean {
  const [name = "", ...value] = setting.split("=");
  if (steersShell(name) || /^GIT_(CONFIG.*|EXEC_PATH|DIR|COMMON_DIR)$/.test(name)) return true;
  return /EDITOR|VISUAL|PAGER|BROWSER|SHELL|LESSOPEN|LESSCLOSE|RSH|COMMAND|SSH|ASKPASS|_DIFF/.test(name)
    ? /[$`]/.test(value.join("="))
    : false;
}

const plainValue = /^[\w.@-]*$/;

const harmless = new Map<string, RegExp>([
  ...[
    "CI NODE_ENV FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM LANG LANGUAGE COLUMNS LINES RUST_BACKTRACE",
    "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED NPM_CONFIG_LOGLEVEL",
  ]
    .flatMap((line) => line.split(" "))
    .map((name) => [name, plainValue] as const),
  ["TZ", /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/],
  ["PAGER", /^(cat)?$/],
  // No other variable of git is safe: Retinue sets some of them itself, so that git runs no program that the repository
  // names.
  ["GIT_PAGER", /^(cat)?$/],
  ["GIT_TERMINAL_PROMPT", /^0$/],
  ["GIT_OPTIONAL_LOCKS", /^0$/],
]);

/** Returns true if this command may set the variable. IFS is safe only for `IFS= read -r line`. */
export function isSafeFor(words: readonly ShellWord[], name: string, value: ShellWord | undefined): boolean {
  if (name === "IFS") return words[0]!.text === "read" && value?.open === undefined;
  return isSafeExport(name, value);
}
