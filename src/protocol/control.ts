import type { LineId, PromptId } from "./ids.ts";
import type { UserBlock } from "./model/message.ts";
import type { ApprovalAnswer, ApprovalQuestion, GivenAnswer } from "./permissions/approval.ts";
import type { PermissionMode } from "./permissions/permission.ts";

/**
 * An instruction from a user or a program to a session. A command with an id that was already used has no effect and
 * gets the same receipt. Agents are given as `main`, by name, by id or by the start or end of an id.
 */
export type Command = { readonly id: string } & (
  | {
      readonly type: "prompt";
      readonly to: string;
      readonly content: readonly UserBlock[];
      /**
       * `now`: the agent reads the prompt before its next step, or is started with it if it is not running. `next`:
       * the main agent starts a new run with it after the current one. Subagents have no queue.
       */
      readonly when: "now" | "next";
    }
  /** Replaces the content of a prompt in the queue. The prompt keeps its place and its id. */
  | { readonly type: "edit"; readonly promptId: PromptId; readonly content: readonly UserBlock[] }
  /** Removes a prompt from the queue. */
  | { readonly type: "withdraw"; readonly promptId: PromptId }
  | { readonly type: "answer"; readonly requestId: string; readonly answer: GivenAnswer }
  /** Stops an agent. `turn`: the main agent's run, while background agents continue. `tree`: all agents. */
  | { readonly type: "stop"; readonly what: string }
  /** Continues an agent whose last run ended early. */
  | { readonly type: "resume"; readonly agent: string }
  /** Moves a subagent to the background, so that its parent no longer waits for it. */
  | { readonly type: "background"; readonly agent: string }
  /** Makes the parent of a background agent wait for it again. */
  | { readonly type: "foreground"; readonly agent: string }
  /** Changes the permission mode at once, and the main agent's model with its next prompt. */
  | {
      readonly type: "configure";
      readonly permissionMode?: PermissionMode | undefined;
      readonly model?: string | undefined;
    }
  /**
   * Replaces the main agent's conversation with a summary. `instructions` describes what the summary should contain.
   */
  | { readonly type: "compact"; readonly instructions?: string | undefined }
  /**
   * Rewinds the conversation to the point before a prompt. `to` is the id of the line that started the prompt's run.
   * With `files`, also restores the files that tools have changed since then.
   */
  | { readonly type: "rewind"; readonly to: LineId; readonly files: boolean }
);

/** A prompt that the user can rewind to. */
export interface PastPrompt {
  /** Id of the line that started the prompt's run. */
  readonly id: LineId;
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /**
   * Files that agents' tools have changed between this prompt and the next one, relative to the workspace. Going back to
   * a prompt restores its files and those of all later prompts, unless someone else has changed them too.
   */
  readonly files: readonly string[];
  /** Commands that have run between this prompt and the next one and may have changed something. */
  readonly commands: readonly string[];
}

/** Result of a command. */
export interface Receipt {
  readonly commandId: string;
  readonly status: "done" | "refused";
  /** Says in one or two sentences what happened, or why nothing did and what to do. */
  readonly message: string;
  /**
   * Set if the command was refused because another command was sent with the same id, or because there is no agent with
   * the given name or id.
   */
  readonly code?: "id_in_use" | "unknown_agent" | undefined;
}

/**
 * A line in a session's `inbox.jsonl`. If a request has several answers, or several commands have the same id, the
 * first one is used.
 */
export type InboxLine = { readonly v: 1; readonly at: number } & (
  | ({ readonly type: "approval.requested" } & ApprovalQuestion)
  | ({ readonly type: "approval.answered"; readonly answerId: string } & Answered & ApprovalAnswer)
  /** The request no longer needs an answer. */
  | { readonly type: "approval.withdrawn"; readonly requestId: string; readonly reason: string }
  /** A command from another process. */
  | { readonly type: "command.sent"; readonly command: Command }
  /** `hash`: hash of the command. It reveals a different command with the same id. */
  | { readonly type: "command.settled"; readonly receipt: Receipt; readonly hash?: string | undefined }
);

interface Answered {
  readonly requestId: string;
  readonly inputHash: string;
}
