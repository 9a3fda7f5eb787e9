// Owns: models from the AI SDK (language models of specification V2, V3 and V4) as models of Retinue.
// Does not own: retries, limits and prices (model), and the packages of the AI SDK, none of which it imports.
// Called by: programs, as `retinue/ai-sdk`.
export type { AiSdkModel, AiSdkStream } from "./ai-sdk-types.ts";
export { type AiSdkOptions, fromAiSdk } from "./from-ai-sdk.ts";
