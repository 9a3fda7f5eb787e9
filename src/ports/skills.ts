import type { SkillFork } from "../protocol/index.ts";
import type { Tool, ToolContext, ToolOutput } from "./tool.ts";

/**
 * Skills that a model can load. A skill is a set of instructions for one kind of work, in a directory with the files
 * that the instructions refer to.
 */
export interface Skills {
  /** Returns the list from which a model chooses a skill. The same skills give the same text. */
  list(): string;
  /** Loads a skill by name, with or without a leading `/`. Never rejects. */
  load(name: string): Promise<SkillLoad>;
}

export type SkillLoad =
  | {
      readonly ok: true;
      readonly name: string;
      /** Text of the skill without the frontmatter. */
      readonly body: string;
      /** Absolute path of the skill's directory. */
      readonly directory: string;
      /** Set if the skill runs as a subagent. */
      readonly fork?: SkillFork | undefined;
    }
  /** The skill could not be loaded. The message is for the model. */
  | { readonly ok: false; readonly message: string };

/** Runs skills as subagents of the agent that calls them. */
export interface SkillRunner {
  /** Limits of a call that waits for a subagent. The subagent has its own limits. */
  readonly limits: Pick<Tool, "timeoutMs" | "abortGraceMs" | "maxCharacters">;
  /** Runs a skill as a subagent. Returns undefined if the calling agent can't start subagents. */
  run(skill: SkillRun, context: ToolContext): Promise<ToolOutput | undefined>;
}

export interface SkillRun {
  readonly name: string;
  /** Text of the skill, including its arguments. */
  readonly prompt: string;
  readonly fork: SkillFork;
}
