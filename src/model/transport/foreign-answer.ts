import { parseObject } from "../answer.ts";
import type { ProviderInfo } from "../providers/provider-info.ts";
import { type Failure, failure } from "./failure.ts";

interface Format {
  readonly dialect: string;
  readonly name: string;
  readonly isIn: (event: Readonly<Record<string, unknown>>) => boolean;
}

const formats: readonly Format[] = [
  {
    dialect: "openai",
    name: "OpenAI's Chat Completions format",
    isIn: ({ object, choices }) => String(object).startsWith("chat.completion") || Array.isArray(choices),
  },
  {
    dialect: "responses",
    name: "OpenAI's Responses format",
    isIn: ({ type, object }) => String(type).startsWith("response.") || object === "response",
  },
  {
    dialect: "anthropic",
    name: "Anthropic's format",
    isIn: ({ type, role }) => type === "message_start" || (type === "message" && role === "assistant"),
  },
  { dialect: "gemini", name: "Google's Gemini format", isIn: ({ candidates }) => Array.isArray(candidates) },
];

/** Explains a response that is in another dialect than the request. `text` is its first event, or its whole body. */
export function foreignAnswer(text: string, { host, provider, dialect }: ProviderInfo): Failure | undefined {
  const event = parseObject(text) as Readonly<Record<string, unknown>> | undefined;
  const format = event && formats.find(({ isIn }) => isIn(event));
  if (format === undefined || dialect === undefined || format.dialect === dialect) return undefined;
  const fix = `Set providers.${provider}.dialect to "${format.dialect}" in your settings, or correct the base URL`;
  return failure("protocol", {
    message: `${host} responds in ${format.name}, which is not the one that Retinue uses for ${provider}. ${fix}.`,
  });
}
