import type { JsonSchema } from "../../protocol/index.ts";

/** Checks the form of an answer, which is the text of the agent's last message. */
export interface OutputCheck {
  /** Tells the model what form its answer must have. */
  readonly instruction: string;
  /** JSON Schema of a valid answer, for providers that can enforce a schema. */
  readonly schema: JsonSchema;
  /** Returns what is wrong with an answer; undefined if the answer is valid. Never rejects. */
  problemIn(text: string): Promise<string | undefined>;
}
