import type { CallId } from "../ids.ts";
import type { UserReply } from "./user-question.ts";

export type Effect = "allow" | "ask" | "deny";

export const permissionModes = ["default", "acceptEdits", "dontAsk", "bypassPermissions", "plan"] as const;
/** Determines what happens to calls that no rule covers. */
export type PermissionMode = (typeof permissionModes)[number];

/** One effect that a tool call would have, before paths are resolved. */
export type Access =
  | (PathAccess & { readonly kind: "read"; readonly shell?: ShellPath | undefined })
  | (PathAccess & { readonly kind: "write"; readonly shell?: ShellPath | undefined })
  /** Lists or searches a directory tree. Denied files are hidden, but the search itself is not refused. */
  | (PathAccess & { readonly kind: "search" })
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "network"; readonly url: string }
  /**
   * Delegates to an agent of this type. `agentType` is empty if the call names no type. `parameters` are the other
   * arguments, as strings.
   */
  | {
      readonly kind: "agent";
      readonly agentType: string;
      readonly parameters?: Readonly<Record<string, string>> | undefined;
      /** Names of the model that the agent would use: as written, its id, and the tiers that it stands for. */
      readonly models?: readonly string[] | undefined;
    }
  /** Loads the text of a skill. */
  | { readonly kind: "skill"; readonly name: string }
  /** Leaves plan mode. This needs approval, because the agent can then make changes. */
  | { readonly kind: "plan" }
  /** Asks the user a question. Only a user or a program can answer it. */
  | { readonly kind: "question" }
  /** Affects only the agent itself, such as its to-do list or its own shells. */
  | { readonly kind: "internal" };

interface PathAccess {
  readonly path: string;
  /**
   * Property of the call's input that names the path. Its value is the path, a pattern that begins with the path, or a
   * list that contains the path. Absent if the input does not contain the path.
   */
  readonly property?: string | undefined;
}

/** A path that a shell command uses. */
export interface ShellPath {
  /**
   * `argument`: read by a command; the command itself is judged as well. `operand`: possibly used by a command that may
   * change something; relevant to rules that allow the command. `target`: an operand that the command writes.
   * `replaced`: an operand that the command replaces or removes. `redirection`: opened by the shell.
   */
  readonly role: "argument" | "operand" | "target" | "replaced" | "redirection";
  /**
   * Shell pattern that names the path, as seen from the workspace. `\` precedes each quoted character, and a leading
   * `~` is the home directory.
   */
  readonly pattern: string;
  /**
   * `pending`: the pattern was not expanded, so it is unknown which files it names. `walked`: the path was found by
   * traversing a directory. `changed`: the command would change this path while it traverses a directory.
   */
  readonly state?: "pending" | "walked" | "changed" | undefined;
  /** True if the shell splits the names of matching files at whitespace and expands them again. */
  readonly splits?: boolean | undefined;
  /** True if the word begins with a wildcard, so that the name of a matching file may look like an option. */
  readonly startsWild?: boolean | undefined;
  /** Set if the command traverses everything under the path. */
  readonly walk?: DirectoryWalk | undefined;
}

/** Describes how a command traverses a directory. */
export interface DirectoryWalk {
  /** True if the command follows symlinks that it finds. */
  readonly follows: boolean;
  /** True if the command reads the contents of files, not only their names. */
  readonly contents: boolean;
  /** True if the command writes files with the names that it finds, so that none of these names may be protected. */
  readonly writes?: boolean | undefined;
  /** Shell patterns of the places to which the command copies or moves what it finds, as seen from the workspace. */
  readonly into?: readonly string[] | undefined;
  /** True if the command changes, moves or removes what it finds. */
  readonly changes?: boolean | undefined;
}

/** A path with its symlinks resolved. Created by a workspace and checked by `permissions`. */
export interface ResolvedPath {
  readonly requested: string;
  /** Absolute path without `.` and `..`. Symlinks are not resolved. */
  readonly absolute: string;
  /**
   * Absolute path, symlinks resolved. If the path is missing, the nearest existing parent is resolved and the rest
   * appended.
   */
  readonly real: string;
  /**
   * Path below the workspace's root, if `absolute` leads to the workspace through a symlink outside it, such as `/tmp`
   * on macOS. Symlinks in the workspace are not resolved.
   */
  readonly inWorkspace?: string | undefined;
  readonly kind: "file" | "directory" | "other" | "missing";
  /** Identifies a file that has several names (hard links). The value is the same for all names. */
  readonly hardLink?: string | undefined;
}

/** A path in a call's input, as it was resolved for the decision on the call. */
export interface InputPath extends Pick<ResolvedPath, "requested" | "absolute" | "real" | "inWorkspace"> {
  /** Property of the input that names the path, as in `Access`. */
  readonly property: string;
}

export type RuleScope = "builtin" | "managed" | "flag" | "local" | "project" | "user" | "session";

export interface Rule {
  /** The rule as written, such as `Bash(npm test)`. */
  readonly text: string;
  readonly effect: Effect;
  readonly scope: RuleScope;
  /** File that contains the rule, for messages. */
  readonly file?: string | undefined;
  /** Line in the file, for messages. */
  readonly line?: number | undefined;
  /**
   * `compact`: a line of a `permission` field or a `permissions.jsonc` file. Its pattern is a glob, and its position
   * among the other lines matters. If absent, the rule is an entry in a list.
   */
  readonly form?: "compact" | undefined;
}

/**
 * Rules from a definition, in written order. The rules apply to the definition's agent and to every agent below it. The
 * last matching rule decides.
 */
export interface PolicyLayer {
  readonly rules: readonly Rule[];
  /**
   * Set if the rules are from the user's own files, so that calls they allow need no approval. Otherwise, an allow rule
   * only reverses an earlier line.
   */
  readonly settles?: true | undefined;
  /** Set if the rules do not apply to git commands that only read. */
  readonly onlyChanges?: true | undefined;
}

/** Everything that `decide()` needs to know. Plain JSON, so that it can be sent to the process that runs the tools. */
export interface Policy {
  readonly mode: PermissionMode;
  /** Canonical names of the agent's tools. */
  readonly pool: readonly string[];
  /** Rules from the settings and from this session. Agents with identical rules share one list. */
  readonly rules: readonly Rule[];
  /** Layers of the agent and its ancestors, topmost ancestor first. Nothing can allow what a layer denies. */
  readonly layers?: readonly PolicyLayer[] | undefined;
  /** Set if no approver is available, so that calls that need approval are denied. */
  readonly unattended?: true | undefined;
  /** Absolute paths, symlinks resolved. The first is the workspace itself. */
  readonly workspaceRoots: readonly string[];
  /** Absolute paths outside the workspace that the agent may read, symlinks resolved. */
  readonly readableRoots: readonly string[];
  /** Set if tools can use files outside these directories only with a path rule that allows it. */
  readonly confined?: true | undefined;
  /** Policy of the machine that runs the tools, if the session runs on another one. Its denials are final. */
  readonly limits?: Policy | undefined;
}

export interface Decision {
  readonly effect: Effect;
  /** Text of the rule that decided, or the name of a built-in rule or mode. */
  readonly rule: string;
  readonly scope: RuleScope;
  /** File that contains the rule. */
  readonly file?: string | undefined;
  /** Tells the user or the model what is missing and how to get it. */
  readonly reason: string;
  /**
   * True if the call is allowed only because it changes nothing, not because a rule, mode or person allowed it. If
   * there is a sandbox, the call must run in its read-only profile, so that a wrong verdict does no harm.
   */
  readonly readsOnly?: boolean | undefined;
  /**
   * Set if the call needs approval even if a project rule allows it. Hooks from projects and plugins can't approve it
   * either.
   */
  readonly insists?: true | undefined;
}

/** Approval of exactly one call with exactly one input. */
export interface Grant {
  readonly callId: CallId;
  readonly inputJson: string;
  /** Replies to the questions that the call asks. */
  readonly replies?: readonly UserReply[] | undefined;
}

/** Policy of a run as recorded in the transcript. A resumed agent gets no more permissions than this policy grants. */
export interface RecordedPolicy {
  readonly mode: PermissionMode;
  readonly pool: readonly string[];
  /** Rules of the policy. A rule's file is recorded only if the rule's meaning depends on it. */
  readonly rules: readonly Rule[];
  /** Additional directories of the workspace. */
  readonly directories?: readonly string[] | undefined;
  readonly layers?: readonly PolicyLayer[] | undefined;
  readonly unattended?: true | undefined;
}
