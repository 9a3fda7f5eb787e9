import type { ToolExecutor, ToolSpec, ToolTraits } from "../ports/index.ts";
import { canonicalToolName, type JsonSchema } from "../protocol/index.ts";

/**
 * Returns an executor that declares its tools at once and is created at the first call, or when `prepare` is called: the
 * first request does not wait until the tools are loaded.
 */
export function lazyExecutor(specs: readonly ToolSpec[], make: () => Promise<ToolExecutor>): ToolExecutor {
  const declarations = specs.map(({ declaration }) => declaration);
  const traits = new Map(specs.map(({ declaration, traits }) => [declaration.name, traits]));
  let made: Promise<ToolExecutor> | undefined;
  /** Set once the executor is created, so that calls need not wait. */
  let ready: ToolExecutor | undefined;
  const executor = (): Promise<ToolExecutor> => {
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
      if (made === undefined) executor().catch(() => undefined);
    },
    judge: (call, policy) => ready?.judge(call, policy) ?? executor().then((each) => each.judge(call, policy)),
    execute: (request, emit, signal) =>
      ready?.execute(request, emit, signal) ?? executor().then((each) => each.execute(request, emit, signal)),
    // Before the first call there is nothing to inherit.
    inherit: (agentId, from) => void made?.then((each) => each.inherit?.(agentId, from)),
    release: async (agentId) => (await made)?.release(agentId),
    close: async () => (await made)?.close(),
  };
}

/** Traits of an unknown tool, whose calls only return an error. */
export const unknownTraits: ToolTraits = { parallel: true, effects: false };

/**
 * Returns the declaration for the model, without limits of numbers and strings and without undocumented inputs. A call that
 * exceeds a limit is rejected with an explanation.
 */
export function leanToolSpec({ declaration, untold = [], ...spec }: ToolSpec): ToolSpec {
  const { inputSchema } = declaration;
  const properties = (inputSchema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const told = Object.entries(properties).filter(([each]) => !untold.includes(each));
  const lean = Object.fromEntries(told.map(([each, schema]) => [each, withoutBounds(schema)]));
  return { ...spec, declaration: { ...declaration, inputSchema: { ...inputSchema, properties: lean } } };
}

function withoutBounds({ minimum: _least, maximum: _most, minLength: _shortest, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
