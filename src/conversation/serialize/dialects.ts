import type { Dialect } from "../../protocol/index.ts";
import { anthropicSerializer } from "./anthropic.ts";
import { geminiSerializer } from "./gemini.ts";
import { openaiSerializer } from "./openai.ts";
import { responsesSerializer } from "./responses.ts";
import type { Serializer } from "./serializer.ts";

/**
 * Version of the serializers, recorded in every transcript. Conversations from an older version may get different
 * bytes.
 */
export const SERIALIZER_VERSION = 3;

const serializers: Record<Dialect, Serializer> = {
  anthropic: anthropicSerializer,
  openai: openaiSerializer,
  responses: responsesSerializer,
  gemini: geminiSerializer,
};

export function serializerFor(dialect: Dialect): Serializer {
  return serializers[dialect];
}
