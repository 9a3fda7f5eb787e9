import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { createPrefixCache, type OpenEntry } from "./cache/prefix-cache.ts";
import { promptPrefixes } from "./cache/prompt-prefixes.ts";
import { deliver } from "./deliver.ts";
import { planFaults } from "./faults.ts";
import { asObject, isObject } from "./json-values.ts";
import type { LiveRequest } from "./record-request.ts";
import { cutsBeforeHeaders, type Rendered, renderError, renderReply } from "./render-reply.ts";
import { type Choice, type RunningScript, turnOf } from "./script/script.ts";
import { seededRandom } from "./seeded-random.ts";
import type { ApiServerOptions, Fault, RecordedRequest, Reply, ScriptContext, Wire } from "./types.ts";
import { asksForSummary } from "./validate/compaction.ts";
import { signsThoughts } from "./validate/gemini-signature.ts";
import { rulesOf } from "./validate/model-rules.ts";
import { readReasoning, reasons } from "./validate/reasoning.ts";
import { betasOf, createThinkingLedger, readThinking, showsThinking } from "./validate/thinking.ts";
import { validateRequest } from "./validate/validate-request.ts";
import { errorAnswer, faultAnswer } from "./wire/error-answer.ts";

type CallAnswererOptions = { options: ApiServerOptions; script: RunningScript; seed: number; now: () => number };

/**
 * Creates a handler for model calls. It handles validation, the script, faults, cache accounting, the wire format and
 * delivery.
 */
export function createCallAnswerer({ options, script, seed, now }: CallAnswererOptions) {
  const isLight = options.record === "light";
  const validates = options.validate !== false && !isLight;
  const readableAfter = options.cache?.readableAfter ?? "response-start";
  const plannedFault = planFaults(options.faults ?? [], seed);
  const saltOf = createSaltMaker(isLight);
  const ledger = createThinkingLedger(seed);
  const cache = createPrefixCache(options.cache);
  let calls = 0;

  const openCache = (request: RecordedRequest, fault: Fault | undefined): OpenEntry | undefined => {
    // A request that fails before the model begins to respond neither reads from the cache nor writes to it.
    if (isLight || !isObject(request.body) || cutsBeforeHeaders(fault)) return undefined;
    const wire = request.wire as Wire;
    const entry = cache.open(
      { wire, model: request.model, prefixes: promptPrefixes(wire, request.rawBody, request.model) },
      now(),
    );
    request.cache = entry.account;
    if (readableAfter === "immediately") entry.commit(now());
    return entry;
  };

  const thinks = ({ wire, model, body }: RecordedRequest): boolean => {
    if (!(options.thinks ?? !isLight) || asksForSummary(body)) return false;
    if (wire === "responses") return reasons(body);
    if (wire === "gemini") return signsThoughts(model);
    if (wire !== "anthropic" || !rulesOf(model).alwaysThinks) return false;
    return asObject(asObject(body)["thinking"])["type"] !== "between_tools";
  };

  const transformationsOf = ({ headers, body }: RecordedRequest) => {
    if (!betasOf(headers["anthropic-beta"]).controls) return undefined;
    return readThinking(body, ledger).dropped.map(({ path, reason }) => ({
      type: "thinking_dropped" as const,
      path,
      reason,
    }));
  };

  const refuse = (request: RecordedRequest): Rendered | undefined => {
    const refusal = validates ? validateRequest(request, { options, ledger }) : undefined;
    if (refusal === undefined) return undefined;
    request.refusal = refusal.reason;
    return renderError(refusal.answer);
  };

  const plan = async (request: RecordedRequest, ordinal: number): Promise<Planned> => {
    const wire = request.wire as Wire;
    const refused = refuse(request);
    if (refused) return { rendered: refused };
    const planned = plannedFault(ordinal);
    const early = planned && faultAnswer(wire, planned);
    if (early) return { rendered: renderError(early, planned) };
    const choice = script.choose(request, planned !== undefined);
    if (typeof choice === "string") return { rendered: unscripted(request, choice) };
    const random = seededRandom(seed, ordinal);
    try {
      const reply = await resolveReply(choice, request, contextOf(request, { ordinal, choice, random }));
      const attemptFault = planned ?? choice.fault;
      const fault = attemptFault ?? reply.fault;
      const answer = fault && faultAnswer(wire, fault);
      if (answer && attemptFault) choice.release();
      if (answer) return { rendered: renderError(answer, fault) };
      const entry = openCache(request, fault);
      const rendered = renderReply(reply, {
        request,
        wire,
        fault,
        seed,
        random,
        salt: saltOf(request),
        usage: usageOf(request),
        thinks: thinks(request),
        hidesThinking: wire === "anthropic" && validates && !showsThinking(request.body),
        summarizes: wire === "anthropic" && asksForSummary(request.body),
        prefix: () => (wire === "responses" ? readReasoning : readThinking)(request.body, ledger).prefix,
        transformations: transformationsOf(request),
      });
      if (rendered.incomplete && attemptFault) choice.release();
      if (rendered.message !== undefined) ledger.remember(rendered.message);
      return { rendered, entry };
    } catch (error) {
      return { rendered: unscripted(request, error instanceof Error ? error.message : String(error)) };
    }
  };

  return async function answerCall(live: LiveRequest, response: ServerResponse): Promise<void> {
    const { request } = live;
    calls += 1;
    const { rendered, entry } = await plan(request, calls);
    request.status = rendered.status;
    if (rendered.fault !== undefined) request.fault = rendered.fault;
    await deliver(response, {
      ...rendered,
      onClosing: live.closing,
      onStart: () => {
        request.firstByteAt = now();
        if (readableAfter === "response-start") entry?.commit(now());
      },
      onSent: (bytes) => {
        request.bytesSent += bytes;
        request.lastByteAt = now();
      },
    });
    if (readableAfter === "response-end" && !rendered.incomplete && !request.aborted) entry?.commit(now());
    if (isLight) live.forgetBody();
  };
}

type Planned = { rendered: Rendered; entry?: OpenEntry | undefined };

/** Responds with an error that no client retries, and records the problem, so that `assertDone` throws. */
function unscripted(request: RecordedRequest, message: string): Rendered {
  request.unscripted = message;
  const answer = errorAnswer(request.wire as Wire, 500, { type: "unscripted", message });
  return renderError({ ...answer, headers: { ...answer.headers, "x-should-retry": "false" } });
}

async function resolveReply(choice: Choice, request: RecordedRequest, context: ScriptContext): Promise<Reply> {
  return typeof choice.reply === "function" ? await choice.reply(request, context) : choice.reply;
}

/**
 * Returns a function that gives each request a salt for its ids: the hash of its body, and how many times that body was
 * sent. Ids are therefore the same in a second run of the same script, but differ between agents that send identical
 * requests, and are not reused if the server is restarted in the middle of a session.
 */
function createSaltMaker(light: boolean): (request: RecordedRequest) => string {
  if (light) return (request) => `${request.ordinal}`;
  const seen = new Map<string, number>();
  return (request) => {
    const hash = createHash("sha1").update(request.rawBody).digest("hex");
    const times = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, times);
    return `${hash} ${times}`;
  };
}

type ContextParts = { ordinal: number; choice: Choice; random: () => number };

function contextOf(request: RecordedRequest, { ordinal, choice, random }: ContextParts): ScriptContext {
  return {
    ordinal,
    count: choice.count,
    conversation: choice.conversation,
    random,
    // This is a getter, because it parses the body, which a light recording avoids.
    get turn() {
      return turnOf(request);
    },
  };
}

function usageOf({ cache, bodyBytes }: RecordedRequest) {
  if (cache === undefined) {
    const inputTokens = Math.ceil(bodyBytes / 4);
    return { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };
  }
  const { prompt, read, written, written1h } = cache;
  const inputTokens = prompt - read - written;
  return { inputTokens, cacheReadTokens: read, cacheWriteTokens: written, cacheWrite1hTokens: written1h };
}
