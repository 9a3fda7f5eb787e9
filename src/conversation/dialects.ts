import type { Dialect } from "../protocol/index.ts";
import { anthropicSerializer } from "./serialize-anthropic.ts";
import { openaiSerializer } from "./serialize-openai.ts";
import type { Serializer } from "./serializer.ts";

/** Stands in every transcript: bytes of an older version are rebuilt by its rules or not promised to be the same. */
export const SERIALIZER_VERSION = 2;

const serializers: Record<Dialect, Serializer> = { anthropic: anthropicSerializer, openai: openaiSerializer };

export function serializerFor(dialect: Dialect): Serializer {
  return serializers[dialect];
}
