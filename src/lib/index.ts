// Owns: domain-free helpers: queues, files, bounded text, JSON, processes, ids, addresses, error messages.
// Does not own: anything that knows what an agent, a tool or a model is.
// Called by: every module except protocol and ports.
export { type Channel, createChannel } from "./async/channel.ts";
export { createDeferred, type Deferred } from "./async/deferred.ts";
export { LONGEST_TIMER_MS, monotonic, withTimeLimit } from "./async/time.ts";
export { describeError, errorCode, UserError } from "./errors.ts";
export { AppendError, type AppendFile, openAppendFile } from "./files/append-file.ts";
export { deleteTree, deleteTreeSync } from "./files/delete-tree.ts";
export { FileCache } from "./files/file-cache.ts";
export { type FileLock, lastOwner, lockOwner, tryLock, withFileLock } from "./files/file-lock.ts";
export { compileGlob } from "./files/glob.ts";
export { homeDirectory } from "./files/home-directory.ts";
export { isWithin } from "./files/is-within.ts";
export {
  compileSegment,
  expandBraces,
  literalPieces,
  MAX_PATTERN_LENGTH,
  matchParts,
  matchSegments,
  matchTokens,
  type NameToken,
} from "./files/segment-pattern.ts";
export { writeAtomically } from "./files/write-atomically.ts";
export {
  createId,
  hashBytes,
  hashTexts,
  type IdMatch,
  matchAgentId,
  matchId,
  newAgentId,
  newRunId,
  newSessionId,
  SHORTEST_END,
} from "./ids.ts";
export { imageType } from "./image-type.ts";
export { canonicalJson } from "./json/canonical-json.ts";
export { isRecord } from "./json/is-record.ts";
export { parseJsonLines } from "./json/json-lines.ts";
export { parseJsonc } from "./json/jsonc.ts";
export {
  checkSchema,
  coerceInput,
  describeProblems,
  type Schema,
  type SchemaProblem,
} from "./json/schema.ts";
export { bareHost, belongsTo, checkUrl } from "./network/check-url.ts";
export { isNetworkRepository } from "./network/git-address.ts";
export { isLoopback, judgeAddress } from "./network/judge-address.ts";
export { maskAddress, maskAddresses, maskLogin } from "./network/mask-addresses.ts";
export {
  credentialsOf,
  type HttpProxy,
  openTunnel,
  ProxyError,
  proxyFor,
  serverNameOf,
  unreachable,
} from "./network/proxy.ts";
export {
  mayBeRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  thisProcess,
} from "./processes/process-identity.ts";
export { descriptorLimit } from "./processes/process-info.ts";
export { isInSessionOf, type ProcessOrigin, processOrigin } from "./processes/process-tag.ts";
export { endProcessTree, sweepTagged } from "./processes/process-tree.ts";
export { type StartedProcess, startProcess } from "./processes/start-process.ts";
export {
  boundText,
  createTextCollector,
  endOfWholeCharacters,
} from "./text/bounded-text.ts";
export {
  formatBytes,
  formatCount,
  formatDuration,
  plural,
  readExactly,
  showExactly,
  stripControls,
} from "./text/format.ts";
export { misspelledName, nearest } from "./text/nearest.ts";
export { testPattern } from "./text/test-pattern.ts";
export { createCalibration, estimateTokens } from "./text/token-estimate.ts";
