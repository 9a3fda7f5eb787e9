import type { Hands } from "../ports/index.ts";
import { canonicalToolName } from "../protocol/index.ts";

/** Hands that do what `own` can by `own`, and all else by `hands`, which somebody else closes. */
export function addTools(hands: Hands, own: Hands): Hands {
  const declared = own.declarations();
  const names = new Set(declared.map(({ name }) => name));
  const declarations = [...hands.declarations().filter(({ name }) => !names.has(name)), ...declared];
  const pick = (toolName: string): Hands => (names.has(canonicalToolName(toolName)) ? own : hands);
  return {
    declarations: () => declarations,
    traits: (toolName) => pick(toolName).traits(toolName),
    prepare: () => hands.prepare?.(),
    judge: (call, policy) => pick(call.name).judge(call, policy),
    execute: (request, emit, signal) => pick(request.call.name).execute(request, emit, signal),
    inherit: (agentId, from) => {
      hands.inherit?.(agentId, from);
      own.inherit?.(agentId, from);
    },
    release: async (agentId) => {
      await Promise.all([hands.release(agentId), own.release(agentId)]);
    },
    close: () => own.close(),
  };
}
