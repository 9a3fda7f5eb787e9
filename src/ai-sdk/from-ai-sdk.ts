import type { Model, ModelDescription, ModelRequest } from "../ports/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import type { AiSdkModel, AiSdkStream } from "./ai-sdk-types.ts";
import { orAbort, readStream } from "./read-stream.ts";
import { writePrompt } from "./write-prompt.ts";

/** What Retinue can't learn from a model of the AI SDK. */
export interface AiSdkOptions {
  /** Size of the context window in tokens, including the output. Default: 200,000 for Claude, otherwise 128,000. */
  readonly window?: number | undefined;
  /** Maximum length of a response in tokens. Default: 32,000 for Claude, otherwise 8,192. */
  readonly maxOutputTokens?: number | undefined;
  /** Prices in US dollars per million tokens. Without them, no limit in dollars can be enforced. */
  readonly prices?: ModelDescription["prices"];
  /** Number of tokens below which the provider caches nothing. */
  readonly cacheMinimumTokens?: number | undefined;
  /** Options that the provider's package documents, such as `{ openai: { reasoningEffort: "high" } }`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/**
 * Makes a language model of the AI SDK a model of Retinue, for the `model` option. Any object of specification V2, V3 or
 * V4 is accepted.
 *
 * ```ts
 * const session = await openSession({ model: fromAiSdk(anthropic("claude-opus-5-5"), { window: 1_000_000 }) });
 * ```
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  checkModel(model);
  const { specificationVersion: version, provider, modelId } = model;
  const { providerOptions, window, maxOutputTokens, prices, cacheMinimumTokens } = options;
  const isClaude = /anthropic|claude/i.test(`${provider} ${modelId}`);
  const origin = { provider: `ai-sdk ${provider}`, model: modelId };
  const described: ModelDescription = {
    provider,
    model: modelId,
    dialect: isClaude ? "anthropic" : "openai",
    window: window ?? (isClaude ? 200_000 : 128_000),
    maxOutputTokens: maxOutputTokens ?? (isClaude ? 32_000 : 8_192),
    prices,
    cacheMinimumTokens,
    // Only V4 has an option for the effort that means the same for all providers.
    efforts: version === "v4" ? ["low", "medium", "high", "xhigh", "max"] : [],
  };

  function optionsOf({ prompt, maxTokens, signal, answerSchema }: ModelRequest): object {
    const { head } = prompt;
    const tools = head.tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      name,
      description,
      inputSchema,
      // Otherwise OpenAI would require every property. V2 does not have this field.
      ...(version !== "v2" && { strict: false }),
    }));
    return {
      prompt: writePrompt(prompt, { version, origin, isClaude }),
      maxOutputTokens: maxTokens,
      ...(tools.length > 0 && { tools, toolChoice: { type: "auto" } }),
      ...(answerSchema && { responseFormat: { type: "json", name: "answer", schema: answerSchema } }),
      ...(version === "v4" && head.effort && { reasoning: head.effort }),
      ...(providerOptions && { providerOptions }),
      abortSignal: signal,
    };
  }

  return {
    describe: () => described,
    async call(request, emit) {
      const { signal, callId } = request;
      // The options of the three specifications differ, and this function writes those of the model's own.
      const doStream = model.doStream.bind(model) as unknown as (
        options: object,
      ) => PromiseLike<{ stream: AiSdkStream }>;
      const { stream } = await orAbort(doStream(optionsOf(request)), signal);
      return readStream(stream, signal, { model, origin, callId, emit });
    },
  };
}

function checkModel(model: unknown): void {
  const { specificationVersion: version, doStream } = Object(model) as Partial<AiSdkModel>;
  if (typeof doStream === "function" && versions.some((known) => known === version)) return;
  const given = typeof model === "string" ? `the text "${model}"` : `specification ${version ?? "unknown"}`;
  const fix = 'Pass the object that a provider\'s package creates, such as anthropic("claude-opus-5-5").';
  throw new TypeError(`fromAiSdk needs a language model of specification v2, v3 or v4, but got ${given}. ${fix}`);
}

const versions: readonly AiSdkModel["specificationVersion"][] = ["v2", "v3", "v4"];
