import { maskAddresses } from "./network/mask-addresses.ts";

export interface UserErrorOptions {
  /** Stable code for programs, such as `definition_invalid`. */
  code: string;
  /** A sentence that tells the user what to do. */
  fix?: string | undefined;
  exitCode?: number | undefined;
  cause?: unknown;
}

/**
 * An error that the user must act on. `message` says what happened, and `fix` says what to do. The command line shows
 * both without a stack trace. Neither contains passwords or keys from addresses.
 */
export class UserError extends Error {
  readonly code: string;
  readonly fix: string | undefined;
  readonly exitCode: number;

  constructor(message: string, { code, fix, exitCode = 1, cause }: UserErrorOptions) {
    super(maskAddresses(message), cause === undefined ? undefined : { cause });
    this.name = "UserError";
    this.code = code;
    this.fix = fix === undefined ? undefined : maskAddresses(fix);
    this.exitCode = exitCode;
  }
}

const longest = 1_000;

/** Describes any thrown value in one line for the user, without passwords and keys in addresses. Never throws. */
export function describeError(error: unknown): string {
  try {
    return maskAddresses(oneLine(messageOf(error, 0))) || "An unknown error occurred.";
  } catch {
    return "An error occurred that could not be described.";
  }
}

/** Returns the `code` of a system error, such as `ENOSPC`. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function messageOf(error: unknown, depth: number): string {
  if (typeof error === "string") return error;
  if (typeof error !== "object" || error === null) return error === undefined ? "" : String(error);
  if (error instanceof UserError) return error.fix ? `${asSentence(error.message)} ${error.fix}` : error.message;
  const system = systemMessageOf(error);
  if (system) return system;
  const inner = depth < 3 ? innerError(error) : undefined;
  const message = "message" in error && typeof error.message === "string" ? error.message : "";
  if (message === "" && inner !== undefined) return messageOf(inner, depth + 1);
  if (message === "") return error instanceof Error ? error.name : JSON.stringify(error);
  // Wrappers such as "fetch failed" are useless without their cause.
  const reason = inner === undefined ? "" : messageOf(inner, depth + 1);
  return reason === "" || message.includes(reason) ? message : `${message} (${reason})`;
}

function innerError(error: object): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return "cause" in error ? error.cause : undefined;
}

function systemMessageOf(error: object): string | undefined {
  const code = errorCode(error);
  const describe = code === undefined ? undefined : systemMessages[code];
  if (!describe) return undefined;
  const detail = error as { path?: unknown; dest?: unknown; address?: unknown; hostname?: unknown; port?: unknown };
  const host = text(detail.address) ?? text(detail.hostname);
  const port = detail.port === undefined ? "" : `:${String(detail.port)}`;
  return `${describe(text(detail.path), host === undefined ? undefined : host + port)} (${code})`;
}

const systemMessages: Readonly<Record<string, (path: string | undefined, host: string | undefined) => string>> = {
  ENOSPC: (path) => `No space left on the disk${path ? ` for ${path}` : ""}: free some space and try again`,
  EDQUOT: (path) => `The disk quota is exceeded${path ? ` for ${path}` : ""}: free some space and try again`,
  EFBIG: (path) => `${path ?? "A file"} would exceed the largest allowed size: raise the limit (ulimit -f)`,
  EACCES: (path) => `Permission denied${at(path)}: check the owner and mode`,
  EPERM: (path) => `The operation is not permitted${at(path)}: check the owner and mode`,
  EROFS: (path) => `The file system is read-only${at(path)}: choose another directory or remount it writable`,
  ENOENT: (path) => `${path ?? "A file or program"} does not exist: check the path`,
  ENOTDIR: (path) => `${path ?? "The path"} contains a file where a directory is expected: check the path`,
  EISDIR: (path) => `${path ?? "The path"} is a directory, not a file: check the path`,
  ELOOP: (path) => `${path ?? "The path"} is a symbolic link that leads to itself: replace the link`,
  EMFILE: () => "Too many files are open: raise the limit (ulimit -n) or run fewer agents at once",
  ENFILE: () => "The system has too many files open: close other programs or raise its limit",
  EIO: (path) => `The disk reported an input/output error${at(path)}: check the disk`,
  ECONNREFUSED: (_, host) =>
    `The connection${to(host)} was refused: check that the server is running and the address is correct`,
  ECONNRESET: (_, host) => `The connection${to(host)} was closed by the other side: try again`,
  ENOTFOUND: (_, host) => `The host${host ? ` ${host}` : ""} was not found: check its name and the network`,
  EAI_AGAIN: (_, host) => `The host${host ? ` ${host}` : ""} could not be looked up: check the network`,
  ETIMEDOUT: (_, host) => `The connection${to(host)} timed out: check the network and try again`,
  EADDRINUSE: (_, host) => `The address${host ? ` ${host}` : ""} is already in use: choose another port`,
};

function at(path: string | undefined): string {
  return path ? ` at ${path}` : "";
}

function to(host: string | undefined): string {
  return host ? ` to ${host}` : "";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function asSentence(message: string): string {
  return /[.!?…]$/.test(message) ? message : `${message}.`;
}

function oneLine(message: string): string {
  const line = message
    .slice(0, longest * 4)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
    .replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/g, " ")
    .trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
