// Owns: domain-free helpers: queues, line files, bounded text, process trees, ids, schema checks, words for errors.
// Does not own: anything that knows what an agent, a tool or a model is.
// Called by: every room except protocol and ports.
export { AppendError, type AppendFile, openAppendFile, syncDirectory } from "./append-file.ts";
export { type BoundedText, boundText, countLines } from "./bounded-text.ts";
export { type Channel, createChannel } from "./channel.ts";
export { checkSchema, describeProblems, isRecord, type Schema, type SchemaProblem } from "./check-schema.ts";
export { bareHost, belongsTo, checkUrl, type UrlCheck } from "./check-url.ts";
export { coerceInput } from "./coerce-input.ts";
export { createDeferred, type Deferred } from "./deferred.ts";
export { descriptorLimit } from "./descriptor-limit.ts";
export { describeError, errorCode, UserError, type UserErrorOptions } from "./errors.ts";
export { type FileLock, lockOwner, tryLock, withFileLock } from "./files/file-lock.ts";
export { compileGlob, type GlobOptions } from "./glob.ts";
export { hashTexts } from "./hash-texts.ts";
export { createId, type IdSource, matchPrefix, newAgentId, newRunId, newSessionId, type PrefixMatch } from "./ids.ts";
export { type JsoncResult, type JsonIssue, parseJsonc } from "./json.ts";
export { isLoopback, judgeAddress } from "./judge-address.ts";
export { monotonic } from "./monotonic.ts";
export { nearest } from "./nearest.ts";
export { endProcessTree, sweepTagged } from "./process-tree.ts";
export {
  mayBeRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  thisProcess,
} from "./processes/process-identity.ts";
export { type BadLine, type JsonLine, type JsonLines, parseJsonLines } from "./read-jsonl.ts";
export { type ProcessExit, type ProcessRequest, type StartedProcess, startProcess } from "./start-process.ts";
export { formatBytes, formatCount, formatDuration, plural, type StripOptions, stripControls } from "./text.ts";
export { type CollectedText, createTextCollector, type TextCollector } from "./text-collector.ts";
export { LONGEST_TIMER_MS, withTimeLimit } from "./time-limit.ts";
export { type Calibration, createCalibration, estimateTokens } from "./token-estimate.ts";
export { writeAtomically } from "./write-atomically.ts";
