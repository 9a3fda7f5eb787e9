import * as z from "zod/v4";
import type { AgentList } from "../../app/index.ts";
import {
  type AgentDraft,
  type AgentFileCheck,
  type AgentInfo,
  type AgentReport,
  type ApprovalAnswer,
  type ApprovalQuestion,
  type Command,
  type ContextReport,
  type NewSession,
  type PastPrompt,
  permissionModes,
  type Receipt,
  type SessionInfo,
  type UserBlock,
  type WaitingApproval,
  type WorkerInfo,
  type WrittenAgent,
} from "../../protocol/index.ts";

// This file imports `zod/v4` instead of `zod`, because esbuild leaves out the initialization of `zod` in a bundle that
// also loads it with import(). Schemas of requests are strict: an unknown key is an error that names the key. Responses
// may get more fields in later versions.

/** Creates a schema for strings that match a pattern, with a message for those that do not. */
const matching = (expression: RegExp, error: string) => z.string().regex(expression, { error });

const id = matching(/^[\w-]{1,64}$/, "must be an id: letters, digits, - and _");
const reference = z.string().min(1).max(200);
const prompt = z.string().min(1).max(1_000_000);
const count = z.int().positive();

export const sessionParameters = z.strictObject({ id });
export const agentParameters = z.strictObject({ id, agent: id });
export const resultParameters = z.strictObject({
  id,
  result: matching(/^[\w-]{1,80}$/, "must be the last part of a retinue://result/… address"),
});
export const approvalParameters = z.strictObject({
  id,
  request: matching(
    /^ask_[\w-]{1,64}$/,
    "must be the id of a request, such as ask_1a2b3c. GET /approval lists the requests.",
  ),
});

const cursor = matching(
  /^\d{1,15}$/,
  "must be a number: the id of the last event or line that you have received",
).transform(Number);
export const eventQuery = z.strictObject({
  after: cursor.optional().describe("Id of the last event that you have received."),
  view: z
    .enum(["true", "false"])
    .optional()
    .describe("Whether to send the session's current view, for retinue/client, instead of its past events."),
});
export const lineQuery = z.strictObject({
  after: cursor.optional().describe("Id of the last line that you have received."),
  limit: matching(/^\d{1,4}$/, "must be a number from 1 to 1000")
    .transform(Number)
    .pipe(z.int().min(1).max(1_000))
    .optional(),
});
export const workerQuery = z.strictObject({ worker: reference.optional() });

const FROM_SERVER = "It comes from the directory and the server's settings.";

/** Library options that clients can't choose, each with advice on what to do instead. */
const otherOptions: Readonly<Record<string, string>> = {
  cwd: "The directory is a worker's directory: set worker to a name that GET /worker lists.",
  provider: "The provider comes from the server's settings. To choose a model from another provider, set model.",
  agents: FROM_SERVER,
  mcpServers: FROM_SERVER,
  hooks: FROM_SERVER,
  environment: FROM_SERVER,
  settings: FROM_SERVER,
};

export const newSession = z.strictObject(
  {
    prompt: prompt.optional().describe("First prompt. Without one, the session waits for a message."),
    worker: reference.optional().describe("Name of a worker from GET /worker. By default, the server's own directory."),
    agent: reference.optional().describe("Agent to run as the main agent, from GET /agent."),
    model: reference.optional().describe("By default, the model from the settings."),
    permissionMode: z.enum(permissionModes).optional().describe("By default, the mode from the settings."),
    maxTurns: count.optional().describe("Maximum number of turns that the main agent can take in a run."),
    maxCost: z.number().positive().optional().describe("Maximum cost of all agents together, in US dollars."),
    maxTokens: count.optional().describe("Maximum number of tokens that all agents together may use."),
  },
  {
    error: (issue) => {
      const key =
        issue.code === "unrecognized_keys" ? issue.keys.find((each) => Object.hasOwn(otherOptions, each)) : "";
      return key ? `has an unknown field "${key}". ${otherOptions[key]}` : undefined;
    },
  },
) satisfies z.ZodType<NewSession>;

const textBlock = z.strictObject({ type: z.literal("text"), text: prompt });
const imageBlock = z.strictObject({
  type: z.literal("image"),
  mediaType: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
  data: z.base64().max(1_000_000),
});
const content = z
  .array(z.discriminatedUnion("type", [textBlock, imageBlock]))
  .min(1)
  .max(100) satisfies z.ZodType<readonly UserBlock[]>;

const agent = reference.describe("main, or an agent's name, id or part of its id.");
const commandId = matching(/^[\w.:-]{1,128}$/, "must be 1 to 128 characters: letters, digits, _ . : -");
const when = z.enum(["now", "next"]);
export const newLimit = z.strictObject({
  maxCost: z.number().positive().describe("Maximum cost of all agents together, in US dollars."),
});

export const newMessage = z
  .strictObject({
    prompt: prompt.optional().describe("Text of the message. Send either prompt or content."),
    content: content.optional().describe("Blocks of text and images."),
    to: reference.optional().describe("main (default), or an agent's name, id or part of its id."),
    when: when.optional().describe("now (default): before the next step. next: in a new run after the current one."),
    id: commandId.optional().describe("Sending the message again with the same id has no effect."),
  })
  .refine((message) => (message.prompt === undefined) !== (message.content === undefined), {
    error: "must have either prompt or content",
  });

export const answer = z.strictObject({
  answer: z.enum(["allow", "deny"]),
  by: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Name of the person who answers. By default, the user who runs the server."),
  message: z.string().max(10_000).optional().describe("Tells the agent why a call was denied."),
  inputJson: z
    .string()
    .max(1_000_000)
    .optional()
    .describe("Input that replaces the call's input, as a string that contains a JSON object."),
  always: z
    .strictObject({ rule: z.string().min(1).max(10_000), for: z.enum(["session", "project"]) })
    .optional()
    .describe("Rule that allows such calls from now on, such as one of the request's `always` rules."),
  replies: z
    .array(z.array(z.string().max(10_000)).max(20))
    .max(10)
    .optional()
    .describe("For an agent's questions: the chosen answers to each question."),
});
const fullAnswer = answer.extend({ by: z.string().min(1).max(200) }) satisfies z.ZodType<ApprovalAnswer>;

export const command = z.discriminatedUnion("type", [
  z.strictObject({ id: commandId, type: z.literal("prompt"), to: agent, content, when }),
  z.strictObject({ id: commandId, type: z.literal("edit"), promptId: commandId, content }),
  z.strictObject({ id: commandId, type: z.literal("withdraw"), promptId: commandId }),
  z.strictObject({ id: commandId, type: z.literal("answer"), requestId: z.string().max(80), answer: fullAnswer }),
  z.strictObject({
    id: commandId,
    type: z.literal("stop"),
    what: reference.describe("Name or id of an agent; turn: the main agent's run; tree: all agents."),
  }),
  z.strictObject({ id: commandId, type: z.literal("resume"), agent }),
  z.strictObject({ id: commandId, type: z.literal("background"), agent }),
  z.strictObject({ id: commandId, type: z.literal("foreground"), agent }),
  z.strictObject({
    id: commandId,
    type: z.literal("configure"),
    permissionMode: z.enum(permissionModes).optional(),
    model: z.string().min(1).max(200).optional(),
  }),
  z.strictObject({ id: commandId, type: z.literal("compact"), instructions: z.string().max(10_000).optional() }),
  z.strictObject({ id: commandId, type: z.literal("rewind"), to: z.string().max(20), files: z.boolean() }),
]) satisfies z.ZodType<Command>;

export const contextReport = z.object({
  agentId: z.string(),
  model: z.string(),
  window: z.number().optional(),
  used: z.number(),
  parts: z.array(z.object({ name: z.string(), tokens: z.number() })),
}) satisfies z.ZodType<ContextReport>;

export const receipt = z.object({
  commandId: z.string(),
  status: z.enum(["done", "refused"]),
  message: z.string(),
  code: z.enum(["id_in_use", "unknown_agent"]).optional(),
}) satisfies z.ZodType<Receipt>;

const outcome = z.enum(["succeeded", "incomplete", "failed", "stopped"]);
const reason = z.enum([
  "done",
  "max_turns",
  "budget",
  "stall",
  "timeout",
  "loop",
  "output_limit",
  "context_overflow",
  "refused",
  "invalid_output",
  "model_error",
  "journal_error",
  "internal_error",
  "process_lost",
  "interrupted",
  "stopped",
  "parked",
]);
export const sessionInfo = z.object({
  id: z.string(),
  worker: z.string(),
  cwd: z.string(),
  state: z.enum(["running", "waiting", "idle", "parked", "ended"]),
  detail: z.string().optional().describe("Why the session is parked, or what is wrong with its files."),
  notices: z.array(z.string()).optional().describe("Messages for its user, if the server has the session open."),
  maxCost: z.number().optional().describe("Maximum cost of all agents together, in US dollars."),
  costUsd: z.number().optional().describe("Known cost of all agents, in US dollars."),
  isCostAtMost: z
    .literal(true)
    .optional()
    .describe("Set if `costUsd` includes the maximum cost of requests whose responses were lost."),
  elsewhere: z.literal(true).optional().describe("Set if another process has the session open."),
  title: z.string().optional().describe("Start of the first prompt."),
  model: z.string().optional(),
  permissionMode: z
    .enum(permissionModes)
    .optional()
    .describe("The main agent's permission mode, if the server has the session open."),
  createdAt: z.number().optional(),
  updatedAt: z.number(),
  outcome: outcome.optional(),
  reason: reason.optional(),
  unpriced: z.literal(true).optional().describe("Set if the last run ended because the price of its model is unknown."),
  turns: z.int(),
  approvals: z.int(),
  waitingPrompts: z.int().optional().describe("Number of prompts that no agent has received yet, if there are any."),
}) satisfies z.ZodType<SessionInfo>;

export const agentInfo = z.object({
  agentId: z.string(),
  agentType: z.string(),
  name: z.string().optional(),
  description: z.string(),
  path: z.array(z.string()),
  metadata: z
    .object({
      subagent: z.object({
        parentSessionId: z
          .string()
          .describe("Id of the session if the main agent is the parent; otherwise, the parent's id."),
        agentType: z.string(),
        callId: z.string().optional().describe("Call that started the agent. Absent if a program started it."),
      }),
    })
    .optional()
    .describe("Links a subagent to its parent. Absent for the main agent."),
}) satisfies z.ZodType<AgentInfo>;

export const linePage = z.object({
  /** Lines of the transcript, whose other fields depend on their type. */
  lines: z.array(
    z.looseObject({ v: z.literal(1), id: z.string(), type: z.string(), at: z.number(), seq: z.number().optional() }),
  ),
  /** Id of the last line, if there are more. */
  next: z.string().optional(),
  skipped: z
    .array(z.number())
    .optional()
    .describe("Numbers of lines in the agent's file that can't be read and were skipped."),
});

export const pastPrompt = z.object({
  id: z.string(),
  text: z.string(),
  at: z.number(),
  files: z
    .array(z.string())
    .describe(
      "Files that agents' tools have changed between this prompt and the next one. Going back to a prompt restores its files and those of all later prompts.",
    ),
  commands: z
    .array(z.string())
    .describe("Commands that have run between this prompt and the next one and may have changed something."),
}) satisfies z.ZodType<PastPrompt>;
export const queuedPrompt = z.object({ promptId: z.string(), content: z.array(z.looseObject({ type: z.string() })) });

const question = z.object({
  requestId: z.string(),
  sessionId: z.string(),
  kind: z.enum(["call", "launch", "question"]),
  agentId: z.string(),
  agentType: z.string(),
  path: z.array(z.string()),
  background: z.literal(true).optional(),
  call: z.object({ callId: z.string(), name: z.string(), inputJson: z.string() }),
  inputHash: z.string(),
  decision: z.object({
    effect: z.enum(["allow", "ask", "deny"]),
    rule: z.string(),
    scope: z.enum(["builtin", "managed", "flag", "local", "project", "user", "session"]),
    reason: z.string(),
    file: z.string().optional(),
  }),
  always: z.array(z.string()),
  grants: z.array(z.string()).optional(),
  questions: z
    .array(
      z.object({
        question: z.string(),
        header: z.string(),
        options: z.array(z.object({ label: z.string(), description: z.string().optional() })),
        multiSelect: z.boolean().optional(),
      }),
    )
    .optional(),
}) satisfies z.ZodType<ApprovalQuestion>;

export const waitingApproval = z.object({ question, askedAt: z.number() }) satisfies z.ZodType<WaitingApproval>;

export const workerInfo = z.object({
  name: z.string(),
  root: z.string(),
  platform: z.string(),
  state: z.enum(["connected", "reconnecting", "lost"]),
}) satisfies z.ZodType<WorkerInfo>;

const diagnostic = z.looseObject({
  severity: z.enum(["error", "warning", "notice"]),
  file: z.string(),
  line: z.number(),
  code: z.string(),
  message: z.string(),
  fix: z.string().optional().describe("What to change."),
});

export const agentCatalog = z.object({
  agents: z.array(z.looseObject({ name: z.string(), source: z.string(), description: z.string() })),
  switchedOff: z.array(z.object({ name: z.string(), reason: z.string() })),
  diagnostics: z.array(diagnostic),
  trusted: z.boolean(),
  off: z.array(z.string()),
  root: z.string(),
  tokens: z.number(),
}) satisfies z.ZodType<{ [Key in keyof AgentList]: unknown }>;

export const definitionParameters = z.strictObject({ agent: reference.describe("Name of an agent, from GET /agent.") });

const agentName = matching(
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/,
  "must be 1 to 64 letters, digits, hyphens and underscores, and begin with a letter or a digit. It becomes the name of a file.",
);
const draft = z.strictObject({
  name: agentName,
  description: z.string().min(1).max(10_000).describe("What the agent does and when to use it."),
  tools: z.array(z.string().min(1).max(500)).max(200).optional().describe("By default, all tools."),
  model: reference.optional(),
  permissionMode: z.enum(permissionModes).optional(),
  prompt: z.string().max(200_000).optional().describe("System prompt. By default, a template."),
}) satisfies z.ZodType<AgentDraft>;

/** Maximum size of an agent file. */
const fileText = z
  .string()
  .min(1)
  .max(256 * 1024);

export const newAgentFile = z.strictObject({ worker: reference.optional(), draft });
export const changedAgentFile = z.strictObject({
  worker: reference.optional(),
  text: fileText.describe("New content of the file."),
  hash: matching(/^[0-9a-f]{64}$/, "must be the hash from GET /agent/NAME").describe(
    "Hash of the content that you have read.",
  ),
});
export const checkedAgent = z
  .strictObject({
    worker: reference.optional(),
    draft: draft.extend({ name: agentName }).optional().describe("A new agent. Send either draft, or agent and text."),
    agent: reference.optional().describe("Agent whose file would contain this text."),
    text: fileText.optional(),
  })
  .refine(
    ({ draft: given, agent: name, text }) => (given === undefined) === (name !== undefined && text !== undefined),
    {
      error: "must have either draft, or agent and text",
    },
  );

export const agentReport = z.looseObject({
  name: z.string(),
  description: z.string(),
  source: z.string(),
  file: z.string().optional(),
  toolReport: z.object({
    hasWildcard: z.boolean(),
    validTools: z.array(z.string()),
    invalidTools: z.array(z.string()),
    resolvedTools: z.array(z.string()),
    withheld: z.array(z.object({ tool: z.string(), why: z.string() })).optional(),
  }),
  problem: z.string().optional().describe("Why the agent can't be started."),
  tokens: z.object({ listing: z.number(), prompt: z.number() }),
  prompt: z.string(),
  diagnostics: z.array(diagnostic),
  text: z.string().optional().describe("Content of the agent's file, if this token may change the file."),
  hash: z.string().optional(),
}) satisfies z.ZodType<{ [Key in keyof AgentReport]?: unknown }>;

export const agentFileCheck = z.object({
  file: z.string(),
  text: z.string(),
  loads: z.boolean(),
  diagnostics: z.array(diagnostic),
  report: agentReport.optional(),
}) satisfies z.ZodType<{ [Key in keyof AgentFileCheck]?: unknown }>;

export const writtenAgent = z.object({
  name: z.string(),
  file: z.string(),
  hash: z.string(),
  loaded: z.boolean().describe("False if the directory is not trusted, in which case the agent is not available."),
}) satisfies z.ZodType<WrittenAgent>;
