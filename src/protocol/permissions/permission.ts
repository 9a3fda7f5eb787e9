import type { CallId } from "../ids.ts";
import type { UserReply } from "./user-question.ts";

export type Effect = "allow" | "ask" | "deny";

export const permissionModes = ["default", "acceptEdits", "dontAsk", "bypassPermissions", "plan"] as const;
export type PermissionMode = (typeof permissionModes)[number];

/** One effect that a tool call would have, before paths are resolved. */
export type Access =
  | { readonly kind: "read"; readonly path: string }
  | { readonly kind: "write"; readonly path: string }
  /** Lists or searches below a directory; denied files are hidden rather than refused. */
  | { readonly kind: "search"; readonly path: string }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "network"; readonly url: string }
  /** Delegates to an agent of this type; empty if the call names none. `parameters` are other arguments, as strings. */
  | {
      readonly kind: "agent";
      readonly agentType: string;
      readonly parameters?: Readonly<Record<string, string>> | undefined;
    }
  /** Loads the text of a skill. */
  | { readonly kind: "skill"; readonly name: string }
  /** Leaves plan mode. It needs approval, because everything else may follow from it. */
  | { readonly kind: "plan" }
  /** Asks the user something. Only a person or a program can answer. */
  | { readonly kind: "question" }
  /** Affects only the agent itself (its to-do list, its own shells). */
  | { readonly kind: "internal" };

/** A path with its symlinks resolved. Created by a workspace, judged by `permissions`. */
export interface ResolvedPath {
  readonly requested: string;
  /** Absolute path without `.` and `..`; symlinks not resolved. */
  readonly absolute: string;
  /** Symlinks resolved. For a missing path, the nearest existing parent is resolved and the rest appended. */
  readonly real: string;
  readonly kind: "file" | "directory" | "other" | "missing";
}

export type RuleScope = "builtin" | "managed" | "flag" | "local" | "project" | "user" | "session";

export interface Rule {
  /** The rule as written, e.g. `Bash(npm test)`. */
  readonly text: string;
  readonly effect: Effect;
  readonly scope: RuleScope;
  /** File that contains the rule, for messages. */
  readonly file?: string | undefined;
  /** Line in the file, for messages. */
  readonly line?: number | undefined;
  /** `compact`: a line of the compact form, a glob whose order among other lines matters. Absent: an entry of a list. */
  readonly form?: "compact" | undefined;
}

/** Rules of a definition. They bind its agent and every agent below it. In written order: the last match wins. */
export interface PolicyLayer {
  readonly rules: readonly Rule[];
  /** Set for the user's own files: what they allow needs no approval. Otherwise an allow only undoes an earlier line. */
  readonly settles?: true | undefined;
}

/** Everything `decide()` needs to know. Plain JSON, so that it can be sent to where the tools run. */
export interface Policy {
  readonly mode: PermissionMode;
  /** Canonical names of the agent's tools. */
  readonly pool: readonly string[];
  /** Rules of the settings and of this session. Agents with the same rules share the list. */
  readonly rules: readonly Rule[];
  /** Layers of the agents from the topmost one down. Nothing can allow what a layer denies. */
  readonly layers?: readonly PolicyLayer[] | undefined;
  /** No approver is available: calls that need approval are denied. */
  readonly unattended?: true | undefined;
  /** Absolute paths, symlinks resolved. The first is the workspace itself. */
  readonly workspaceRoots: readonly string[];
  /** Absolute paths outside the workspace that may be read, symlinks resolved. */
  readonly readableRoots: readonly string[];
}

export interface Decision {
  readonly effect: Effect;
  /** Text of the rule that decided, or the name of the built-in rule or mode. */
  readonly rule: string;
  readonly scope: RuleScope;
  /** File that contains the rule. */
  readonly file?: string | undefined;
  /** Says to the user or the model what is missing and how to get it. */
  readonly reason: string;
}

/** Approval of exactly one call with exactly one input. */
export interface Grant {
  readonly callId: CallId;
  readonly inputJson: string;
  readonly by: "person" | "rule" | "hook";
  /** Replies to the questions that the call asks. */
  readonly replies?: readonly UserReply[] | undefined;
}

/** Policy of a run as recorded in the transcript. A resumed agent is not allowed more. */
export interface RecordedPolicy {
  readonly mode: PermissionMode;
  readonly pool: readonly string[];
  /** Rules keep their file only if their meaning depends on it. */
  readonly rules: readonly Rule[];
  /** Additional directories of the workspace. */
  readonly directories?: readonly string[] | undefined;
  readonly layers?: readonly PolicyLayer[] | undefined;
  readonly unattended?: true | undefined;
}
