/// <reference lib="esnext.disposable" preserve="true" />
// Owns: support for testing Retinue and programs built on it, such as a scripted model API server with faults. Does not
// own: anything that the product needs at run time; no other module imports it. Called by: tests, the bench and users
// of `retinue/testing`.
export { createApiServer } from "./api-server/create-api-server.ts";
export {
  messagesOf,
  type SeenMessage,
  type SeenToolCall,
  type SeenToolResult,
  systemOf,
  toolNamesOf,
} from "./api-server/script/messages-of.ts";
export { startFromFile } from "./api-server/start-from-file.ts";
export type {
  ApiServer,
  ApiServerOptions,
  CacheAccount,
  CacheOptions,
  Conversation,
  Fault,
  InputTransformation,
  Matcher,
  Pacing,
  PlannedFault,
  RecordedRequest,
  Reply,
  ReplyFunction,
  ReplyPart,
  RetryAfter,
  Script,
  ScriptContext,
  Step,
  StopReason,
  ToolPart,
  Wire,
} from "./api-server/types.ts";
export {
  type Cast,
  createCast,
  createScriptedModel,
  type ScriptedAnswer,
  type ScriptedModel,
  type ScriptedStep,
} from "./scripted-model.ts";
