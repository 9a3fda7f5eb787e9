import type { ServerResponse } from "node:http";
import { deliver } from "./deliver.ts";
import { errorAnswer, faultAnswer } from "./error-answer.ts";
import { planFaults } from "./plan-faults.ts";
import type { LiveRequest } from "./record-request.ts";
import { type Rendered, renderError, renderReply } from "./render-reply.ts";
import { createSaltMaker } from "./salt.ts";
import { type Choice, type RunningScript, turnOf } from "./script.ts";
import { seededRandom } from "./seeded-random.ts";
import { createThinkingLedger } from "./thinking-ledger.ts";
import type { ApiServerOptions, Fault, RecordedRequest, Reply, ScriptContext, Wire } from "./types.ts";
import { validateRequest } from "./validate-request.ts";

export type Answering = { options: ApiServerOptions; script: RunningScript; seed: number; now: () => number };

/** Answers one call of a model: script, faults, wire format, delivery. */
export function createCallAnswerer({ options, script, seed, now }: Answering) {
  const plannedFault = planFaults(options.faults ?? [], seed);
  const saltOf = createSaltMaker(options.record === "light");
  const ledger = createThinkingLedger(seed);
  const validates = options.validate !== false && options.record !== "light";
  let calls = 0;

  const plan = async (request: RecordedRequest, wire: Wire): Promise<Rendered> => {
    calls += 1;
    const ordinal = calls;
    const refusal = validates ? validateRequest(request, { options, ledger }) : undefined;
    if (refusal !== undefined) {
      request.refusal = refusal.reason;
      return renderError(refusal.answer);
    }
    const random = seededRandom(seed, ordinal);
    const planned = plannedFault(ordinal);
    const early = planned && faultAnswer(wire, planned);
    if (early) return renderError(early, planned);
    const choice = script.choose(request, planned !== undefined);
    if (typeof choice === "string") return unscripted(request, wire, choice);
    try {
      const reply = await resolveReply(choice, request, contextOf(request, { ordinal, choice, random }));
      const attemptFault = planned ?? choice.fault;
      const usage = plainUsage(request);
      const rendering = { request, wire, seed, random, salt: saltOf(request), usage };
      const rendered = render(reply, attemptFault ?? reply.fault, rendering);
      if (attemptFault !== undefined && rendered.incomplete) choice.release();
      if (rendered.message !== undefined) ledger.remember(rendered.message);
      return rendered;
    } catch (error) {
      return unscripted(request, wire, error instanceof Error ? error.message : String(error));
    }
  };

  return async function answerCall(live: LiveRequest, response: ServerResponse): Promise<void> {
    const { request } = live;
    const rendered = await plan(request, request.wire as Wire);
    request.status = rendered.status;
    if (rendered.fault !== undefined) request.fault = rendered.fault;
    await deliver(response, {
      ...rendered,
      onClosing: live.closing,
      onStart: () => {
        request.firstByteAt = now();
      },
      onSent: (bytes) => {
        request.bytesSent += bytes;
        request.lastByteAt = now();
      },
    });
    if (options.record === "light") live.forgetBody();
  };
}

type Rendering = Parameters<typeof renderReply>[1];

function render(reply: Reply, fault: Fault | undefined, rendering: Omit<Rendering, "fault">): Rendered {
  const answer = fault && faultAnswer(rendering.wire, fault);
  if (answer) return renderError(answer, fault);
  return renderReply(reply, { ...rendering, fault });
}

/** Loud twice: the caller gets an error that no client can take for an answer, and `assertDone` throws. */
function unscripted(request: RecordedRequest, wire: Wire, message: string): Rendered {
  request.unscripted = message;
  const answer = errorAnswer(wire, 500, { type: "unscripted", message });
  return renderError({ ...answer, headers: { ...answer.headers, "x-should-retry": "false" } });
}

async function resolveReply(choice: Choice, request: RecordedRequest, context: ScriptContext): Promise<Reply> {
  return typeof choice.reply === "function" ? await choice.reply(request, context) : choice.reply;
}

type ContextParts = { ordinal: number; choice: Choice; random: () => number };

function contextOf(request: RecordedRequest, { ordinal, choice, random }: ContextParts): ScriptContext {
  return {
    ordinal,
    count: choice.count,
    conversation: choice.conversation,
    random,
    // Read only by scripts that want it: it costs a parse, which a light recording saves.
    get turn() {
      return turnOf(request);
    },
  };
}

function plainUsage(request: RecordedRequest) {
  const inputTokens = Math.ceil(request.bodyBytes / 4);
  return { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };
}
