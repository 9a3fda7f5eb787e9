import type { Hands, ToolFace, ToolTraits } from "../ports/index.ts";
import { canonicalToolName } from "../protocol/index.ts";

/**
 * Hands that show their tools at once and are made when the first call comes, or as soon as there is time (`prepare`):
 * what a call needs is not loaded while the first request waits to leave.
 */
export function lazyHands(faces: readonly ToolFace[], make: () => Promise<Hands>): Hands {
  const declarations = faces.map(({ declaration }) => declaration);
  const traits = new Map(faces.map((face) => [face.declaration.name, face.traits]));
  let made: Promise<Hands> | undefined;
  const hands = (): Promise<Hands> => {
    made ??= make();
    return made;
  };
  return {
    declarations: () => declarations,
    traits: (toolName) => traits.get(canonicalToolName(toolName)) ?? unknownTraits,
    prepare: () => {
      if (made === undefined) hands().catch(() => undefined);
    },
    judge: async (call, policy) => (await hands()).judge(call, policy),
    execute: async (request, emit, signal) => (await hands()).execute(request, emit, signal),
    // Before the first call nobody was shown anything.
    inherit: (agentId, from) => void made?.then((each) => each.inherit?.(agentId, from)),
    release: async (agentId) => (await made)?.release(agentId),
    close: async () => (await made)?.close(),
  };
}

/** A call that will be answered with "no such tool" needs no care. */
export const unknownTraits: ToolTraits = { parallel: true, effects: false };
