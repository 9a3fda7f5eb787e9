import { fork } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { openSession, type Session, type SessionOptions } from "../../src/app/index.ts";
import { FORK_INTRODUCTION, type PermissionMode } from "../../src/protocol/index.ts";
import { bundleProgram } from "../../src/testing/bundle-program.test-support.ts";
import {
  createApiServer,
  messagesOf,
  type RecordedRequest,
  type Reply,
  type ReplyPart,
  systemOf,
} from "../../src/testing/index.ts";
import { expectRecordedHeads } from "./check-heads.ts";
import { newPlace } from "./delegation-place.ts";
import type { Elsewhere } from "./prompt-session.ts";

export const read = { tool: "Read", input: { file_path: "notes.txt" } };
const judge = { description: "Judges. Use it to judge.", prompt: "You are a judge.", tools: ["Read"] };
export const judges = { judge: { ...judge, forkContext: true } };
/** Agents of which none gets its parent's conversation. */
export const plainJudges = { judge };

const anthropic = ["claude-opus-5-5", "claude-fable-5-1", "claude-sonnet-5-5", "claude-haiku-4-5", "claude-fable-5-2"];
const responses = ["gpt-6.2-sol", "gpt-6-sol", "gpt-6.2-astra", "gpt-5.1", "gpt-6-luna"];
const gemini = ["gemini-4-argon", "gemini-3.8-flash", "gemini-3.7-flash", "gemini-2.5-pro", "gemini-3.1-pro-preview"];
const named = (provider: string, names: readonly string[]): string[] => names.map((name) => `${provider}/${name}`);
/** Models that a conversation can change to. With `all`, it also changes its provider and dialect. */
export const models = {
  anthropic: named("anthropic", anthropic),
  responses: named("openai", responses),
  gemini: named("gemini", gemini),
  all: [anthropic, responses, gemini].flatMap((list, index) =>
    named(["anthropic", "openai", "gemini"][index] ?? "", list.slice(0, 2)),
  ),
} as const;
export type Wire = keyof typeof models;

/** Something that happens to a conversation. `model` is an index of `models`. */
export type Action =
  /** The main agent answers a prompt with these responses, and then with "Done.". */
  | { readonly do: "prompt"; readonly replies: readonly (readonly ReplyPart[] | Reply)[] }
  /** The user stops a run after its first response. */
  | { readonly do: "interrupt" }
  | { readonly do: "compact" }
  | { readonly do: "rewind"; readonly to: number }
  | { readonly do: "model"; readonly model: number }
  | { readonly do: "mode"; readonly mode: PermissionMode }
  | { readonly do: "agents"; readonly exists: boolean }
  | { readonly do: "skills"; readonly exists: boolean }
  | { readonly do: "instructions"; readonly text: string }
  /** A subagent that has ended gets a message. */
  | { readonly do: "message"; readonly to: number }
  | {
      readonly do: "resume";
      /** Whether the session is closed while the main agent works. */
      readonly isParked?: boolean;
      readonly model?: number;
      readonly options?: SessionOptions;
    }
  /** Another process resumes the session for one prompt, which is answered with "Done.". */
  | { readonly do: "elsewhere" };

/**
 * Performs the actions in a new session. Checks that all runs of the main agent succeed and that its head changes only
 * for recorded reasons. Returns all requests that the session's agents made.
 */
export async function perform(actions: readonly Action[], wire: Wire): Promise<readonly RecordedRequest[]> {
  const { home, cwd } = newPlace();
  writeFileSync(join(cwd, "long.txt"), "This is a line of a long file.\n".repeat(400));
  const replies: Reply[] = [];
  const server = await createApiServer({
    script: (request) => replyOfOthers(request) ?? replies.shift() ?? { content: "Done." },
  });
  const keys = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" };
  const environment = { HOME: home, PATH: process.env["PATH"], ...keys };
  const limits = { baseUrl: server.url, window: 11_000, maxOutputTokens: 2_000 };
  const providers = { anthropic: limits, openai: { ...limits, dialect: "responses" as const }, gemini: limits };
  const modelOf = (index = 0): string => models[wire][index % models[wire].length] ?? "";
  let options: SessionOptions = { model: modelOf(), agents: judges };
  const current = (): SessionOptions => ({
    ...{ home, cwd, environment, settings: { fork: "on", providers }, trusted: false },
    ...options,
  });
  let session = await openSession(current());
  const script = (given: Extract<Action, { do: "prompt" }>["replies"]): void => {
    replies.splice(0, replies.length, ...given.map((each) => ("content" in each ? each : { content: each })));
  };
  const begin = async (): Promise<void> => {
    script([[read], [read]]);
    for await (const { type } of session.prompt("MAIN: go on.")) if (type === "model.ended") break;
  };
  const file = (path: string, text: string | undefined): void => {
    mkdirSync(dirname(path), { recursive: true });
    if (text === undefined) rmSync(path, { force: true });
    else writeFileSync(path, text);
  };
  try {
    await prompt(session, "MAIN: begin.");
    for (const each of actions) {
      if (each.do === "prompt") {
        script(each.replies);
        await prompt(session, "MAIN: go on.");
      } else if (each.do === "interrupt") {
        await begin();
        await session.interrupt();
      } else if (each.do === "compact") await compact(session);
      else if (each.do === "rewind") {
        const prompts = await session.prompts();
        if (prompts.length > 0) await session.rewind(prompts[each.to % prompts.length]?.id ?? "");
      } else if (each.do === "model") {
        options = { ...options, model: modelOf(each.model) };
        await session.setModel(modelOf(each.model));
      } else if (each.do === "mode") await session.setPermissionMode(each.mode);
      else if (each.do === "agents")
        file(join(home, ".agents/agents/poet.md"), each.exists ? definition("poet") : undefined);
      else if (each.do === "skills")
        file(join(home, ".agents/skills/ship/SKILL.md"), each.exists ? definition("ship") : undefined);
      else if (each.do === "instructions") {
        file(join(home, ".agents/AGENTS.md"), each.text);
        file(join(cwd, "AGENTS.md"), each.text);
      } else if (each.do === "message") await message(session, each.to);
      else {
        if (each.do === "resume" && each.isParked) {
          await begin();
          await session.park();
        } else await session.close();
        const { id } = session;
        if (each.do === "elsewhere")
          await promptElsewhere({ options: { ...current(), resume: id }, prompt: "MAIN: go on." });
        else options = { ...options, ...each.options, model: modelOf(each.model) };
        session = await openSession({ ...current(), resume: id });
      }
    }
    await session.close();
    expectRecordedHeads(
      session,
      server.requests.filter((request) => !isOther(request)),
    );
    return server.requests;
  } finally {
    await server.close();
  }
}

async function prompt(session: Session, text: string): Promise<void> {
  expect(await session.prompt(text).result).toMatchObject({ outcome: "succeeded" });
}

async function compact(session: Session): Promise<void> {
  try {
    expect(await session.compact().result).toMatchObject({ outcome: "succeeded" });
  } catch (error) {
    expect(error).toMatchObject({ message: "There is nothing to compact yet" });
  }
}

async function message(session: Session, index: number): Promise<void> {
  const all = await session.subagents.list();
  const { agentId } = all[index % all.length] ?? {};
  if (agentId === undefined) return;
  await session.subagents.message(agentId, "Go on.");
  expect(await session.subagents.wait(agentId)).toMatchObject({ outcome: "succeeded" });
}

async function promptElsewhere(elsewhere: Elsewhere): Promise<void> {
  const child = fork(bundleProgram(join(import.meta.dirname, "prompt-session.ts")), [], { execArgv: [] });
  onTestFinished(() => void child.kill());
  const ended = new Promise((resolve) => child.once("message", resolve).once("exit", resolve));
  child.send(elsewhere);
  expect(await ended).toMatchObject({ outcome: "succeeded" });
}

const definition = (name: string): string => `---\nname: ${name}\ndescription: Does it. Use it.\n---\nDo it well.\n`;

/** Returns the reply to a request for a summary or of a subagent, which reads a file and reports. */
function replyOfOthers(request: RecordedRequest): Reply | undefined {
  if (request.rawBody.includes("do not call any tool")) return { content: "Goal: go on." };
  if (!isOther(request)) return undefined;
  const last = messagesOf(request).at(-1);
  return last?.toolResults.some(({ text }) => text.includes("alpha")) ? { content: "Reported." } : { content: [read] };
}

/** Returns whether a request comes from a subagent. */
function isOther(request: RecordedRequest): boolean {
  const isFork = request.rawBody.includes(JSON.stringify(FORK_INTRODUCTION).slice(1, -1));
  return isFork || systemOf(request).includes("You are a judge.");
}
