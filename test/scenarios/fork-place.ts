import { onTestFinished } from "vitest";
import { openSession, type Session, type SessionOptions } from "../../src/app/index.ts";
import { FORK_INTRODUCTION, type RunResult, type RunUpdate } from "../../src/protocol/index.ts";
import { type ApiServer, createApiServer, type RecordedRequest, type Reply } from "../../src/testing/index.ts";
import { newPlace, type Place } from "./delegation-place.ts";

/** Returns the model's answers for one agent: the main agent, or a fork that is recognized by its directive. */
export type Part = (turn: number, request: RecordedRequest) => Reply | Promise<Reply>;
export type Parts = Readonly<Record<string, Part>>;

export interface Stage extends Place {
  readonly server: ApiServer;
  open(options?: SessionOptions): Promise<Session>;
  /** Returns one part's requests, in order. */
  requests(part: string): readonly RecordedRequest[];
}

interface StageOptions {
  readonly at?: Place;
  readonly wire?: keyof typeof environments;
  /** The server's clock. */
  readonly now?: () => number;
}

/** Introduction of forks as it appears in the body of a request. */
export const introduction = JSON.stringify(FORK_INTRODUCTION).slice(1, -1);

/** Starts a model API server that plays the main agent (`MAIN`) and its forks, recognized by their directives. */
export async function stage(
  parts: Parts,
  { at = newPlace(), wire = "anthropic", now }: StageOptions = {},
): Promise<Stage> {
  const asked = new Map<string, RecordedRequest[]>();
  const server = await createApiServer({
    cache: { readableAfter: "response-start" },
    ...(now && { now }),
    script: (request) => {
      const who = partOf(request, Object.keys(parts));
      const mine = asked.get(who) ?? [];
      asked.set(who, [...mine, request]);
      return parts[who]?.(mine.length + 1, request) ?? { content: `no part is named ${who}` };
    },
  });
  onTestFinished(() => server.close());
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  return {
    ...at,
    server,
    open: ({ settings, ...options } = {}) =>
      openSession({
        cwd: at.cwd,
        home: at.home,
        settings: { fork: "on", ...(wire === "responses" ? speaksResponses : {}), ...settings },
        environment: { ...environment, ...environments[wire](server.url) },
        ...options,
      }),
    requests: (part) => asked.get(part) ?? [],
  };
}

const speaksResponses = { providers: { openai: { dialect: "responses" } } } as const;
const openai = (url: string) => ({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${url}/v1` });
const environments = {
  anthropic: (url: string) => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url }),
  openai,
  responses: openai,
  gemini: (url: string) => ({ GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: url }),
};

/**
 * Returns the part whose directive comes last, because a fork's directive comes after its origin's conversation. In a
 * compacted conversation, the directive is in the record.
 */
function partOf(request: RecordedRequest, parts: readonly string[]): string {
  const body = unmarked(request);
  const at = (part: string): number =>
    part === "MAIN"
      ? 0
      : Math.max(
          body.lastIndexOf(`<first_request>\\n${part}:`),
          ...betweenTexts.map((between) => body.lastIndexOf(`${introduction}${between}${part}:`)),
        );
  return parts.reduce((best, part) => (at(part) > at(best) ? part : best), "MAIN");
}

/** Separator between two text blocks in each wire format. */
const betweenTexts = ['"},{"type":"text","text":"', '"},{"type":"input_text","text":"', '"},{"text":"', "\\n"];

export interface Played {
  readonly result: RunResult;
  readonly updates: readonly RunUpdate[];
  readonly session: Session;
}

export async function play(on: Stage, options: SessionOptions = {}, words = "MAIN: do it."): Promise<Played> {
  const session = await on.open(options);
  const run = session.prompt(words);
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  return { result, updates, session };
}

/** Returns one reply per turn, in order. */
export const saying =
  (...replies: readonly Reply[]): Part =>
  (turn) =>
    replies[turn - 1] ?? { content: "?" };

export function one(request: RecordedRequest | undefined): RecordedRequest {
  if (request === undefined) throw new Error("a request is missing");
  return request;
}

/** Returns the part of a request that a longer conversation must begin with. */
export function prefixOf(request: RecordedRequest): string {
  return unmarked(request).replace(/\],"max_tokens":\d+\}$/, "");
}

export const forkCall = (prompt: string, more: Record<string, unknown> = {}) => ({
  tool: "Task",
  input: { description: "a piece of it", prompt, ...more },
});

export function unmarked({ rawBody }: Pick<RecordedRequest, "rawBody">): string {
  return rawBody.toString("utf8").replaceAll(/,"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}/g, "");
}

export interface WireMessage {
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly content?: unknown }[];
}

export function messagesIn({ body }: RecordedRequest): readonly WireMessage[] {
  return (body as { readonly messages: readonly WireMessage[] }).messages;
}

/** Returns the tool results in the last message of a request. */
export function toolResults(request: RecordedRequest | undefined): readonly string[] {
  const last = request && messagesIn(request).at(-1);
  return (last?.content ?? []).flatMap(({ type, content }) => (type === "tool_result" ? [String(content)] : []));
}

/** Returns the Task tool's description in a request, and the agent types that its schema enumerates. */
export function taskOf({ body }: RecordedRequest): { readonly description: string; readonly types: readonly string[] } {
  const { tools } = body as { readonly tools: readonly DeclaredTool[] };
  const task = tools.find(({ name }) => name === "Task");
  return { description: task?.description ?? "", types: task?.input_schema.properties.subagent_type.enum ?? [] };
}

interface DeclaredTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly properties: { readonly subagent_type: { readonly enum: readonly string[] } } };
}
