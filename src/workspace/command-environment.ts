import { realpathSync } from "node:fs";
import { basename, delimiter, resolve } from "node:path";
import { isWithin } from "../lib/index.ts";
import { adaptEnvironment, isShellHook, STANDARD_PATH } from "./scrub-environment.ts";

/**
 * Selects the environment variables that commands written by a model get: those that are known to be harmless, and
 * those that the settings name. `pass` contains the names from the settings; a name that ends in `*` is a prefix.
 */
export function commandEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  pass: readonly string[] = [],
): Readonly<Record<string, string>> {
  const names = new Set(pass.filter((name) => !name.endsWith("*")));
  const beginnings = pass.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const isNamed = (name: string): boolean =>
    names.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
  const selected: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || isShellHook(name)) continue;
    if (isNamed(name) || isHarmless(name, value)) selected[name] = value;
  }
  return adaptEnvironment(selected);
}

/** Returns the environment for commands that are allowed only because they are read-only. */
export function readOnlyEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const plain = Object.entries(commandEnvironment(environment)).filter(
    ([name]) => !(name.toLowerCase() in npmSettings),
  );
  return { ...Object.fromEntries(plain), ...npmSettings };
}

/**
 * Removes directories from PATH in which a repository could provide `ls` or `git`: those in the given places, and those
 * of version managers (asdf, mise, pyenv and others), which run programs that a file in the repository can choose.
 */
export function pathOutside(path: string, places: readonly string[]): string {
  const isInside = (entry: string): boolean =>
    [resolve(entry), realPath(entry)].some((each) => places.some((place) => isWithin(each, place)));
  return (
    path
      .split(delimiter)
      .filter((entry) => !isInside(entry) && basename(resolve(entry)) !== "shims")
      .join(delimiter) || STANDARD_PATH
  );
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/**
 * Without these settings, even `npm ls` creates the cache and logs that the project's .npmrc names, and checks the
 * registry named there for a newer npm.
 */
const npmSettings: Readonly<Record<string, string>> = {
  npm_config_cache: "/dev/null",
  npm_config_logs_dir: "/dev/null",
  npm_config_logs_max: "0",
  npm_config_timing: "false",
  npm_config_offline: "true",
  npm_config_update_notifier: "false",
};

function isHarmless(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  if (harmless.has(upper)) return true;
  return addresses.has(upper) && !hasPassword(value);
}

/** Returns whether a list of addresses contains a user name or a password. */
function hasPassword(value: string): boolean {
  return /:\/\/[^/\s]*@/.test(value) || /^[^/\s]*@/.test(value);
}

/** Variables with addresses of proxies and registries, which are kept unless they contain a password. */
const addresses: ReadonlySet<string> = new Set([
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"],
  ...["GOPROXY", "NPM_CONFIG_REGISTRY", "PIP_INDEX_URL", "UV_INDEX_URL"],
]);

/** Names of harmless variables, in upper case. No variable in this list makes a program run another program. */
const harmless: ReadonlySet<string> = new Set([
  // Variables about the user, the terminal and the system.
  ...["LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "LC_ADDRESS"],
  ...["LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE", "LC_TERMINAL"],
  ...["LC_TERMINAL_VERSION", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_BIN_HOME"],
  ...["XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE"],
  ...["XDG_SESSION_DESKTOP", "XDG_SESSION_CLASS", "XDG_SESSION_ID", "XDG_SEAT", "XDG_VTNR", "XDG_MENU_PREFIX"],
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ", "HOSTNAME", "PWD"],
  ...[
    "TMPDIR",
    "TMP",
    "TEMP",
    "COLUMNS",
    "LINES",
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "DEBIAN_FRONTEND",
    "RETINUE_HOME",
  ],
  ...["SOURCE_DATE_EPOCH", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK"],
  ...["WSL_DISTRO_NAME", "WSL_INTEROP", "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA"],
  ...["LOCALAPPDATA", "PROGRAMFILES", "PROGRAMDATA", "SYSTEMDRIVE", "DEVELOPER_DIR", "SDKROOT", "HOMEBREW_PREFIX"],
  // JavaScript.
  ...["NVM_DIR", "NVM_BIN", "FNM_DIR", "FNM_MULTISHELL_PATH", "VOLTA_HOME", "BUN_INSTALL", "DENO_DIR", "PNPM_HOME"],
  ...["COREPACK_HOME", "NODE_ENV", "NPM_CONFIG_CACHE", "PLAYWRIGHT_BROWSERS_PATH"],
  // Rust and Go.
  ...["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUST_BACKTRACE", "RUST_LOG", "GOPATH"],
  ...[
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPRIVATE",
    "GONOSUMDB",
    "GOTOOLCHAIN",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
  ],
  // Java and Android.
  ...[
    "JAVA_HOME",
    "JDK_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
  ],
  ...["ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "FLUTTER_ROOT"],
  // Python.
  ...["PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE", "POETRY_HOME"],
  ...["PIPX_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK", "PYTHONDONTWRITEBYTECODE"],
  ...["PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "TOKENIZERS_PARALLELISM"],
  // Variables for C and other languages.
  ...["RBENV_ROOT", "RBENV_VERSION", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "RVM_PATH", "ASDF_DIR", "ASDF_DATA_DIR"],
  ...["MISE_DATA_DIR", "DOTNET_ROOT", "DOTNET_CLI_TELEMETRY_OPTOUT", "OPAM_SWITCH_PREFIX", "NIX_PATH", "NIX_PROFILES"],
  ...[
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "CMAKE_PREFIX_PATH",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
  ],
  ...["CUDA_VISIBLE_DEVICES"],
  // Certificates.
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"],
  ...["PIP_CERT", "NIX_SSL_CERT_FILE"],
  // Author and committer.
  ...["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"],
  ...["GIT_COMMITTER_DATE"],
]);
