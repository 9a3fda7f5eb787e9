import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic as createAnthropicV2 } from "ai-sdk-anthropic-v2";
import { createOpenAICompatible as createCompatibleV2 } from "ai-sdk-openai-compatible-v2";
import { type ConformanceSubject, describeConformance } from "../model/conformance.test-support.ts";
import { documentedModel } from "../model/documented-model.test-support.ts";
import { createLimiter, createProgramModel } from "../model/index.ts";
import { type Call, callModel, realClock } from "../model/wire.test-support.ts";
import type { Model } from "../ports/index.ts";
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "./index.ts";

/** Returns a subject for a model of a program, as a session uses it. Retries take no real time. */
function subject(
  name: string,
  modelAt: (url: string) => Model | Promise<Model>,
  more: Partial<ConformanceSubject> & Pick<ConformanceSubject, "head">,
): ConformanceSubject {
  const caller = (url: string) => {
    let waited = 0;
    const delay = (milliseconds: number) => {
      waited += milliseconds;
      return Promise.resolve();
    };
    const limiter = createLimiter({ clock: { monotonic: () => waited }, delay });
    let made: Promise<Model> | undefined;
    return {
      async call(...parameters: Parameters<ReturnType<ConformanceSubject["caller"]>["call"]>): Promise<Call> {
        made ??= Promise.resolve(modelAt(url)).then((model) =>
          createProgramModel(model, { limiter, clock: realClock }),
        );
        return callModel(await made, ...parameters);
      },
    };
  };
  return { name, caller, ...more };
}

const apiKey = "sk-test-0123456789abcdef";
const opus = "claude-opus-5-5";
const gpt = "gpt-6.2-sol";

function sdk(
  name: string,
  modelAt: (url: string) => AiSdkModel,
  { options, ...more }: Partial<ConformanceSubject> & { readonly options?: AiSdkOptions } = {},
): ConformanceSubject {
  const { provider, model, dialect } = fromAiSdk(modelAt("http://127.0.0.1")).describe();
  const head = { provider, model, dialect };
  return subject(name, (url) => fromAiSdk(modelAt(url), options), { head, ...more });
}

const shown = { anthropic: { thinking: { type: "adaptive", display: "summarized" } } };
const reasoning = { openai: { store: false, include: ["reasoning.encrypted_content"], reasoningSummary: "auto" } };

describeConformance(
  sdk("the AI SDK (V2, Anthropic)", (url) => createAnthropicV2({ apiKey, baseURL: `${url}/v1` })(opus), {
    options: { providerOptions: shown },
    knowsAllEvents: true,
  }),
);
describeConformance(
  sdk("the AI SDK (V3, Anthropic)", (url) => createAnthropic({ apiKey, baseURL: `${url}/v1` })(opus), {
    options: { providerOptions: shown },
    knowsAllEvents: true,
  }),
);
describeConformance(
  sdk("the AI SDK (V3, OpenAI Responses)", (url) => createOpenAI({ apiKey, baseURL: `${url}/v1` }).responses(gpt), {
    options: { providerOptions: reasoning },
    keepsCallIds: true,
  }),
);
describeConformance(
  sdk(
    "the AI SDK (V2, OpenAI-compatible)",
    (url) =>
      createCompatibleV2({ name: "mine", apiKey, baseURL: `${url}/v1`, includeUsage: true }).chatModel("gpt-5.1"),
    { knowsAllEvents: true, mergesThinking: true },
  ),
);
describeConformance(
  subject("the model in docs/library.md", documentedModel, {
    head: { provider: "mine", model: "gpt-5.1", dialect: "openai" },
    returnsThinking: false,
  }),
);
