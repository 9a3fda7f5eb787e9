import type { JsonObject } from "../protocol/index.ts";

/** A language model of the AI SDK, of specification V2, V3 or V4, such as `anthropic("claude-opus-5-5")`. */
export interface AiSdkModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** Name of the provider, such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** The options of the three specifications differ, so no common type for them exists. */
  doStream(options: never): PromiseLike<{ readonly stream: AiSdkStream }>;
}

/** The part of a `ReadableStream` that is used. */
export interface AiSdkStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
    cancel(reason?: unknown): Promise<void>;
  };
}

/** Data of a provider, by the provider's name. Arrives as `providerMetadata` and is sent back as `providerOptions`. */
export type ProviderData = Readonly<Record<string, JsonObject>>;

/** A part of a message that is sent to a model. */
export interface PromptPart {
  readonly type: string;
  readonly providerOptions?: ProviderData | undefined;
  readonly [field: string]: unknown;
}

/** A message that is sent to a model. */
export interface PromptMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly PromptPart[];
  readonly providerOptions?: ProviderData | undefined;
}

/**
 * A part of a stream, of any specification. The type says which fields it has, but any field may be missing, because
 * anyone can write a provider.
 */
export interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly providerMetadata?: ProviderData | undefined;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly providerExecuted?: boolean;
  readonly dynamic?: boolean;
  readonly result?: unknown;
  readonly isError?: boolean;
  readonly preliminary?: boolean;
  readonly mediaType?: string;
  /** Text in base64, bytes, or, in V4, an object with either of them or a URL. */
  readonly data?: unknown;
  readonly kind?: string;
  readonly approvalId?: string;
  readonly warnings?: readonly Warning[];
  /** A word in V2, an object in V3 and V4. */
  readonly finishReason?: string | { readonly unified?: string; readonly raw?: string | undefined };
  readonly usage?: StreamUsage;
  readonly error?: unknown;
}

export interface Warning {
  readonly type: string;
  readonly feature?: string;
  readonly setting?: string;
  readonly tool?: { readonly name?: string };
  readonly details?: string;
  readonly message?: string;
}

/** Numbers in V2, objects in V3 and V4. */
export interface StreamUsage {
  readonly inputTokens?: number | InputTokens | undefined;
  readonly outputTokens?: number | OutputTokens | undefined;
  readonly cachedInputTokens?: number | undefined;
}

interface InputTokens {
  readonly total?: number | undefined;
  readonly noCache?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
}

interface OutputTokens {
  readonly total?: number | undefined;
  readonly text?: number | undefined;
  readonly reasoning?: number | undefined;
}
