import { Chain } from "../../conversation/index.ts";
import { formatCount, UserError } from "../../lib/index.ts";
import { createLimiter, createWireModel, resolveProvider } from "../../model/index.ts";
import type { ModelDescription, ModelProgress } from "../../ports/index.ts";
import {
  addUsage,
  callsOf,
  costOf,
  type Head,
  type ModelError,
  type ModelOutcome,
  noUsage,
  promptTokens,
  type ToolDeclaration,
  textOf,
  type Usage,
  type UserBlock,
} from "../../protocol/index.ts";
import { type ModelOptions, problemText } from "../settings/choose-model.ts";

export type CheckedAbility = "answers" | "streaming" | "tools" | "images" | "caching";

/** Result of one part of the check. `unknown`: the responses do not show it. */
export interface AbilityCheck {
  readonly ability: CheckedAbility;
  readonly status: "works" | "fails" | "unknown";
  readonly found: string;
  /** What to do if it does not work. */
  readonly fix?: string | undefined;
}

export interface ModelTest {
  readonly provider: string;
  readonly model: string;
  readonly dialect: ModelDescription["dialect"];
  /** Whether agents can work with the model: it answers and calls tools. */
  readonly isUsable: boolean;
  readonly checks: readonly AbilityCheck[];
  /** Number of requests that were sent. */
  readonly requests: number;
  readonly usage: Usage;
  /** Absent if the model has no known price. */
  readonly costUsd?: number | undefined;
  readonly milliseconds: number;
  /** Set if the model did not answer. */
  readonly error?: ModelError | undefined;
}

interface Attempt {
  readonly withTools: boolean;
  readonly withImage: boolean;
}

/**
 * Sends one request that uses everything agents need. If the model refuses it, further requests find out which part is
 * not supported. A second request is also needed if the response to the first does not show whether the prompt was
 * cached. Throws a `UserError` if no model can be chosen.
 */
export async function testModel(options: Omit<ModelOptions, "agent">): Promise<ModelTest> {
  const { settings, origins, environment, flags, clock } = options;
  const choice = resolveProvider({ settings, environment, flags });
  if (choice.kind === "problem") throw new UserError(problemText(choice, origins), { code: "provider", exitCode: 2 });
  if (choice.kind === "offline") {
    const fix = "Name a model of a provider, such as claude-haiku-5-5.";
    throw new UserError("There is nothing to test: the offline model is not a language model", {
      code: "provider",
      fix,
      exitCode: 2,
    });
  }
  const { provider, model: name } = choice;
  const limiter = createLimiter({ clock });
  const retry = { maxAttempts: 2, longestWaitMs: 10_000 };
  const model = createWireModel({ provider, model: name, limiter, clock, retry, idleMs: 60_000 });
  const description = model.describe();
  const began = clock.monotonic();
  let requests = 0;
  let usage = noUsage;
  let costUsd = 0;

  const send = async (chain: Chain) => {
    const pieces: ModelProgress[] = [];
    requests += 1;
    const outcome = await model.call(
      {
        prompt: chain.request(),
        maxTokens: Math.min(description.maxOutputTokens, MAX_TOKENS),
        callId: (index) => `check_${requests}_${index}`,
        signal: new AbortController().signal,
      },
      (progress) => {
        if (hasContent(progress)) pieces.push(progress);
      },
    );
    if (outcome.usage) {
      usage = addUsage(usage, outcome.usage);
      costUsd += description.prices === undefined ? 0 : costOf(outcome.usage, description.prices);
    }
    return { outcome, pieces: pieces.length };
  };

  const ask = async (attempt: Attempt) => {
    const chain = new Chain(headOf(description, { ...attempt, maxTokensField: provider.maxTokensField }));
    chain.append({ role: "user", content: questionOf(attempt) });
    return { attempt, chain, ...(await send(chain)) };
  };

  const attempts: readonly Attempt[] = [
    { withTools: true, withImage: true },
    { withTools: true, withImage: false },
    { withTools: false, withImage: true },
    { withTools: false, withImage: false },
  ];
  let asked = await ask(attempts[0] as Attempt);
  const { outcome: first } = asked;
  for (const attempt of attempts.slice(1)) {
    if (asked.outcome.ok || !refusesPart(asked.outcome.error)) break;
    asked = await ask(attempt);
  }
  const { outcome, chain, pieces, attempt } = asked;
  const ended = (checks: readonly AbilityCheck[], error?: ModelError): ModelTest => ({
    ...{ provider: provider.name, model: name, dialect: description.dialect },
    isUsable: checks.every(({ ability, status }) => status === "works" || !needed.has(ability)),
    ...{ checks, requests, usage, error },
    costUsd: description.prices === undefined ? undefined : costUsd,
    milliseconds: Math.round(clock.monotonic() - began),
  });
  if (!outcome.ok) {
    const { error } = first.ok ? outcome : first;
    return ended([{ ability: "answers", status: "fails", found: error.message }], error);
  }
  const refusal = first.ok ? undefined : first.error.message;
  const checks = [
    { ability: "answers", status: "works", found: `in ${formatCount(outcome.usage.outputTokens)} tokens` } as const,
    streamingCheck(pieces),
    toolsCheck(outcome, { ...attempt, refusal }),
    imagesCheck(outcome, { ...attempt, refusal }),
  ];
  const seen = cachedTokens(outcome.usage);
  if (seen !== undefined) return ended([...checks, cachingCheck(seen)]);
  continueChain(chain, outcome);
  const { outcome: second } = await send(chain);
  return ended([...checks, cachingCheck(second.ok ? cachedTokens(second.usage) : undefined)]);
}

const MAX_TOKENS = 4_000;
const needed: ReadonlySet<CheckedAbility> = new Set(["answers", "tools"]);

function hasContent(progress: ModelProgress): boolean {
  if (progress.type === "call.delta") return progress.json !== "";
  return (progress.type === "text.delta" || progress.type === "thinking.delta") && progress.text !== "";
}

/** Returns whether a request may have been refused because of its tool or its picture. */
function refusesPart({ code }: ModelError): boolean {
  return code === "unsupported" || code === "bad_request";
}

const tool: ToolDeclaration = {
  name: "report_color",
  description: "Reports the color of the picture.",
  inputSchema: {
    type: "object",
    properties: { color: { type: "string", description: "One English word; `none` if you see no picture." } },
    required: ["color"],
  },
};

/** A red square. */
const picture: UserBlock = {
  type: "image",
  mediaType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsAtx/ZMZxgi+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywKqxUDxqh7TUQAAAABJRU5ErkJggg==",
};

function headOf(
  { provider, model, dialect, thinking, efforts, noEffortWithTools, cacheMinimumTokens }: ModelDescription,
  { withTools, maxTokensField }: Attempt & Pick<Head, "maxTokensField">,
): Head {
  const effort = efforts?.includes("low") && !noEffortWithTools ? "low" : undefined;
  const tools = withTools ? [tool] : [];
  const system = `You are part of a short check of a connection.\n\n${padding(cacheMinimumTokens)}`;
  return {
    ...{ provider, model, dialect, thinking, effort, tools, system, maxTokensField },
    ...{ systemContext: "", userContext: "" },
  };
}

/** Most providers cache nothing below this number of tokens. */
const USUAL_MINIMUM = 1_024;

/** Returns text that makes a prompt long enough to be cached. */
function padding(minimum = USUAL_MINIMUM): string {
  const line = "This line only makes the prompt long enough to be cached.";
  const lines = Math.ceil((minimum * 5) / line.length);
  return Array.from({ length: lines }, (_, index) => `${index + 1}. ${line}`).join("\n");
}

function questionOf({ withTools, withImage }: Attempt): readonly UserBlock[] {
  const question = "Say in one sentence of about twenty words what you are going to do.";
  const color = withImage ? "the color of the picture" : 'the color "red"';
  const text = withTools ? `${question} Then report ${color} with the tool.` : `${question} Then name ${color}.`;
  return withImage ? [{ type: "text", text }, picture] : [{ type: "text", text }];
}

type Answer = Extract<ModelOutcome, { ok: true }>;
type Tried = Attempt & { readonly refusal: string | undefined };

function streamingCheck(pieces: number): AbilityCheck {
  if (pieces > 1) return { ability: "streaming", status: "works", found: `${formatCount(pieces)} pieces` };
  const found = "the response arrived in one piece";
  return {
    ability: "streaming",
    status: "unknown",
    found,
    fix: "Agents work, but you see each response only when it is complete.",
  };
}

function toolsCheck({ message }: Answer, { withTools, refusal = "" }: Tried): AbilityCheck {
  const ability = "tools";
  const fix = "Agents need a model that calls tools. Choose another one with the `model` option.";
  if (!withTools) return { ability, status: "fails", found: refusal, fix };
  const [call] = callsOf(message);
  if (call === undefined)
    return { ability, status: "fails", found: "the model did not call the tool that it was told to call", fix };
  return { ability, status: "works", found: `called ${call.name}` };
}

function imagesCheck({ message }: Answer, { withImage, refusal = "" }: Tried): AbilityCheck {
  const ability = "images";
  const fix = "Agents work, but they can't look at images with this model.";
  if (!withImage) return { ability, status: "fails", found: refusal, fix };
  const said = `${textOf(message.content)} ${callsOf(message).map(({ inputJson }) => inputJson)}`;
  if (/\bred\b/i.test(said)) return { ability, status: "works", found: "recognized the color of a picture" };
  return { ability, status: "fails", found: "the model did not recognize the color of a picture", fix };
}

/** Returns how much of a prompt was written to the cache or read from it; undefined if the usage does not show any. */
function cachedTokens({ cacheReadTokens, cacheWriteTokens, ...usage }: Usage) {
  if (cacheReadTokens + cacheWriteTokens === 0) return undefined;
  return { cacheReadTokens, cacheWriteTokens, prompt: promptTokens({ ...usage, cacheReadTokens, cacheWriteTokens }) };
}

function cachingCheck(seen: ReturnType<typeof cachedTokens>): AbilityCheck {
  const ability = "caching";
  if (seen === undefined) {
    const found = "nothing was read from a cache or written to one";
    return {
      ability,
      status: "unknown",
      found,
      fix: "Every request of a conversation may cost as much as the whole conversation.",
    };
  }
  const { cacheReadTokens: read, cacheWriteTokens: written, prompt } = seen;
  const did = read > 0 ? `read ${formatCount(read)}` : `wrote ${formatCount(written)}`;
  return { ability, status: "works", found: `${did} of ${formatCount(prompt)} tokens` };
}

/** Continues the conversation, so that its beginning can be read from the cache. */
function continueChain(chain: Chain, { message }: Answer): void {
  chain.append(message);
  const results = callsOf(message).map(({ callId }): UserBlock => {
    return { type: "tool_result", callId, content: [{ type: "text", text: "Reported." }], isError: false };
  });
  chain.append({ role: "user", content: [...results, { type: "text", text: "Thank you. Answer with OK." }] });
}
