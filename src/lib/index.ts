// Owns: domain-free helpers: queues, files, bounded text, JSON, processes, ids, addresses, words for errors.
// Does not own: anything that knows what an agent, a tool or a model is.
// Called by: every module except protocol and ports.
export { type Channel, createChannel } from "./async/channel.ts";
export { createDeferred, type Deferred } from "./async/deferred.ts";
export { LONGEST_TIMER_MS, monotonic, withTimeLimit } from "./async/time.ts";
export { describeError, errorCode, UserError, type UserErrorOptions } from "./errors.ts";
export { AppendError, type AppendFile, openAppendFile } from "./files/append-file.ts";
export { type FileLock, lockOwner, tryLock, withFileLock } from "./files/file-lock.ts";
export { compileGlob, type GlobOptions } from "./files/glob.ts";
export { writeAtomically } from "./files/write-atomically.ts";
export {
  createId,
  hashTexts,
  type IdSource,
  matchPrefix,
  newAgentId,
  newRunId,
  newSessionId,
  type PrefixMatch,
} from "./ids.ts";
export { type BadLine, type JsonLine, type JsonLines, parseJsonLines } from "./json/json-lines.ts";
export { type JsoncResult, type JsonIssue, parseJsonc } from "./json/jsonc.ts";
export {
  checkSchema,
  coerceInput,
  describeProblems,
  isRecord,
  type Schema,
  type SchemaProblem,
} from "./json/schema.ts";
export { bareHost, belongsTo, checkUrl, type UrlCheck } from "./network/check-url.ts";
export { isLoopback, judgeAddress } from "./network/judge-address.ts";
export {
  mayBeRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  thisProcess,
} from "./processes/process-identity.ts";
export { descriptorLimit } from "./processes/process-info.ts";
export { endProcessTree, sweepTagged } from "./processes/process-tree.ts";
export { type ProcessExit, type ProcessRequest, type StartedProcess, startProcess } from "./processes/start-process.ts";
export {
  type BoundedText,
  boundText,
  type CollectedText,
  countLines,
  createTextCollector,
  endOfWholeCharacters,
  type TextCollector,
} from "./text/bounded-text.ts";
export { formatBytes, formatCount, formatDuration, plural, type StripOptions, stripControls } from "./text/format.ts";
export { nearest } from "./text/nearest.ts";
export { type Calibration, createCalibration, estimateTokens } from "./text/token-estimate.ts";
