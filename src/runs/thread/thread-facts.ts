import type { PackedChain } from "../../conversation/index.ts";
import type { LoopState } from "../../loop/index.ts";
import type { EndReason, LineId, RunId } from "../../protocol/index.ts";

/**
 * Raise it with every change of what a checkpoint holds or of what follows from lines: an older one is then not used.
 * A test pins what belongs to it.
 */
export const FORMAT = 3;

/** What a checkpoint says of a thread, beside the bytes of its conversation. */
export interface ThreadFacts {
  readonly format: typeof FORMAT;
  readonly state: LoopState;
  readonly head: string;
  readonly ended: EndReason | undefined;
  readonly type: string | undefined;
  readonly lines: number;
  readonly answer: LineId | undefined;
  readonly kept: readonly RunId[];
  readonly chain: PackedChain["facts"];
}

export function isOfThisFormat(facts: unknown): facts is ThreadFacts {
  return (facts as ThreadFacts).format === FORMAT;
}
