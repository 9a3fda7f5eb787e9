// Owns: what comes next in a run (`next`) and what an event means (`fold`), as pure functions.
// Does not own: performing operations, the bytes of messages, time.
// Called by: runs, which performs operations and journals their events; app and reports, which fold transcripts.
export { commandsUnderWay, inputOf, withKnownFacts } from "./call-effects.ts";
export { type CallState, findCall } from "./call-state.ts";
export { type ContextLimits, estimated, expectedTokens, mostExpectedTokens, sizeOf } from "./context.ts";
export { factsBefore, foldWork, type WorkDone, withEarlier } from "./continued-work.ts";
export { fold, foldPast, rewound, userTurn, withToldCalls } from "./fold.ts";
export type { Operation, RecalledCalls } from "./next.ts";
export { next, recovery, startedCalls, unknownResults } from "./next.ts";
export type { Ending, LoopState, QueuedPrompt } from "./state.ts";
export { factsOf, initialState, turnsLeft } from "./state.ts";
export { chargeOf, foldUnderWay, type UnderWay } from "./under-way.ts";
export { type Unverified, withUnverified } from "./unverified.ts";
