import type { CallId } from "./ids.ts";

export type Effect = "allow" | "ask" | "deny";

export const permissionModes = ["default", "acceptEdits", "dontAsk", "bypassPermissions", "plan"] as const;
export type PermissionMode = (typeof permissionModes)[number];

/** One thing a tool call would do to the world, before paths are resolved. */
export type Access =
  | { readonly kind: "read"; readonly path: string }
  | { readonly kind: "write"; readonly path: string }
  /** Lists or searches below a directory; what rules deny there is hidden, not refused. */
  | { readonly kind: "search"; readonly path: string }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "network"; readonly url: string }
  /** Gives work to an agent of this type; empty where the call does not say. `parameters`: what else the call asks for, as words. */
  | {
      readonly kind: "agent";
      readonly agentType: string;
      readonly parameters?: Readonly<Record<string, string>> | undefined;
    }
  /** Gives the agent the words of a skill. */
  | { readonly kind: "skill"; readonly name: string }
  /** Ends plan mode: everything else may follow from it, so a person decides. */
  | { readonly kind: "plan" }
  /** Touches nothing outside the agent (a to-do list, its own shells). */
  | { readonly kind: "internal" };

/** Where a path really leads. Made by a workspace, judged by `permissions`. */
export interface ResolvedPath {
  readonly requested: string;
  /** Absolute, `.` and `..` removed, links not followed. */
  readonly absolute: string;
  /** Links followed; for what does not exist the nearest existing parent is followed and the rest appended. */
  readonly real: string;
  readonly kind: "file" | "directory" | "other" | "missing";
}

export type RuleScope = "builtin" | "managed" | "flag" | "local" | "project" | "user" | "session";

export interface Rule {
  /** As written, e.g. `Bash(npm test)`. */
  readonly text: string;
  readonly effect: Effect;
  readonly scope: RuleScope;
  /** The file that holds the rule, for messages. */
  readonly file?: string | undefined;
  /** A line of the compact form: a glob, and its place among the other lines counts. Absent: an entry of a list. */
  readonly form?: "compact" | undefined;
}

/** What a definition says about its agent, and binds every agent below it. In written order: the last match wins. */
export interface PolicyLayer {
  readonly rules: readonly Rule[];
  /** From a person's own file: what it allows needs no question. Elsewhere an allow only takes back an earlier line. */
  readonly settles?: true | undefined;
}

/** Everything `decide()` needs to know; plain JSON, so that it can travel to where the tools run. */
export interface Policy {
  readonly mode: PermissionMode;
  /** Canonical names of the tools this agent has. */
  readonly pool: readonly string[];
  /** Of settings and of this session; shared by all agents that have the same. */
  readonly rules: readonly Rule[];
  /** The topmost agent's first. What one of them denies nothing allows. */
  readonly layers?: readonly PolicyLayer[] | undefined;
  /** Nobody can answer: what would be asked is denied. */
  readonly unattended?: true | undefined;
  /** Absolute real paths. The first is the workspace itself. */
  readonly workspaceRoots: readonly string[];
  /** Absolute real paths that may be read although they are outside the workspace. */
  readonly readableRoots: readonly string[];
}

export interface Decision {
  readonly effect: Effect;
  /** The text of the rule that decided, or the name of the built-in rule or mode. */
  readonly rule: string;
  readonly scope: RuleScope;
  /** The file that holds the rule. */
  readonly file?: string | undefined;
  /** For the person or the model that reads it: what is missing and how to get it. */
  readonly reason: string;
}

/** Says that somebody entitled to it allowed exactly this call with exactly this input. */
export interface Grant {
  readonly callId: CallId;
  readonly inputJson: string;
  readonly by: "person" | "rule" | "hook";
}
