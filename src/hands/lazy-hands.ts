import type { Hands, ToolFace, ToolTraits } from "../ports/index.ts";
import { canonicalToolName } from "../protocol/index.ts";

/**
 * Hands that show their tools at once and are made when the first call comes, or as soon as there is time (`prepare`):
 * nothing that a call needs has to be loaded before a request can be made.
 */
export function lazyHands(faces: readonly ToolFace[], make: () => Promise<Hands>): Hands {
  const declarations = faces.map(({ declaration }) => declaration);
  const traits = new Map(faces.map((face) => [face.declaration.name, face.traits]));
  let made: Promise<Hands> | undefined;
  /** From then on nobody waits for them. */
  let ready: Hands | undefined;
  const hands = (): Promise<Hands> => {
    made ??= make().then((each) => {
      ready = each;
      return each;
    });
    return made;
  };
  return {
    declarations: () => declarations,
    traits: (toolName) => traits.get(canonicalToolName(toolName)) ?? unknownTraits,
    prepare: () => {
      if (made === undefined) hands().catch(() => undefined);
    },
    judge: (call, policy) => ready?.judge(call, policy) ?? hands().then((each) => each.judge(call, policy)),
    execute: (request, emit, signal) =>
      ready?.execute(request, emit, signal) ?? hands().then((each) => each.execute(request, emit, signal)),
    // Before the first call nobody was shown anything.
    inherit: (agentId, from) => void made?.then((each) => each.inherit?.(agentId, from)),
    release: async (agentId) => (await made)?.release(agentId),
    close: async () => (await made)?.close(),
  };
}

/** A call that will be answered with "no such tool" needs no care. */
export const unknownTraits: ToolTraits = { parallel: true, effects: false };
