import * as z from "zod/v4";
import type { AgentList } from "../../app/index.ts";
import {
  type AgentInfo,
  type ApprovalAnswer,
  type ApprovalQuestion,
  type Command,
  type NewSession,
  permissionModes,
  type Receipt,
  type SessionInfo,
  type UserBlock,
  type WaitingApproval,
  type WorkerInfo,
} from "../../protocol/index.ts";

// `zod/v4` instead of `zod`, because esbuild leaves out the initialization of the latter in a bundle that also loads it
// with import(). Requests are strict: an unknown key is refused by its name. Responses may get more fields in later versions.

const id = z.string().regex(/^[\w-]{1,64}$/);
const reference = z.string().min(1).max(200);
const prompt = z.string().min(1).max(1_000_000);
const count = z.int().positive();

export const sessionParameters = z.strictObject({ id });
export const agentParameters = z.strictObject({ id, agent: id });
export const resultParameters = z.strictObject({ id, result: z.string().regex(/^[\w-]{1,80}$/) });
export const approvalParameters = z.strictObject({ id, request: z.string().regex(/^ask_[\w-]{1,64}$/) });

const cursor = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
export const eventQuery = z.strictObject({ after: cursor.optional() });
export const lineQuery = z.strictObject({
  after: cursor.optional(),
  limit: z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(1_000))
    .optional(),
});
export const workerQuery = z.strictObject({ worker: reference.optional() });

export const newSession = z.strictObject({
  prompt: prompt.optional(),
  worker: reference.optional(),
  agent: reference.optional(),
  model: reference.optional(),
  permissionMode: z.enum(permissionModes).optional(),
  maxTurns: count.optional(),
  maxCost: z.number().positive().optional(),
  maxTokens: count.optional(),
}) satisfies z.ZodType<NewSession>;

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

const commandId = z.string().regex(/^[\w.:-]{1,128}$/);
const when = z.enum(["now", "next"]);
export const newMessage = z
  .strictObject({
    prompt: prompt.optional(),
    content: content.optional(),
    to: reference.optional(),
    when: when.optional(),
    id: commandId.optional(),
  })
  .refine((message) => (message.prompt === undefined) !== (message.content === undefined), {
    error: "Send either prompt or content.",
  });

export const answer = z.strictObject({
  answer: z.enum(["allow", "deny"]),
  by: z.string().min(1).max(200).optional(),
  message: z.string().max(10_000).optional(),
  inputJson: z.string().max(1_000_000).optional(),
  always: z.strictObject({ rule: z.string().min(1).max(10_000), for: z.enum(["session", "project"]) }).optional(),
  replies: z
    .array(z.array(z.string().max(10_000)).max(20))
    .max(10)
    .optional(),
});
const fullAnswer = answer.extend({ by: z.string().min(1).max(200) }) satisfies z.ZodType<ApprovalAnswer>;

export const command = z.discriminatedUnion("type", [
  z.strictObject({ id: commandId, type: z.literal("prompt"), to: reference, content, when }),
  z.strictObject({ id: commandId, type: z.literal("withdraw"), promptId: commandId }),
  z.strictObject({ id: commandId, type: z.literal("answer"), requestId: z.string().max(80), answer: fullAnswer }),
  z.strictObject({ id: commandId, type: z.literal("stop"), what: reference }),
  z.strictObject({ id: commandId, type: z.literal("resume"), agent: reference }),
  z.strictObject({ id: commandId, type: z.literal("background"), agent: reference }),
  z.strictObject({ id: commandId, type: z.literal("foreground"), agent: reference }),
]) satisfies z.ZodType<Command>;

export const receipt = z.object({
  commandId: z.string(),
  status: z.enum(["done", "refused"]),
  message: z.string(),
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
  detail: z.string().optional(),
  elsewhere: z.literal(true).optional(),
  title: z.string().optional(),
  model: z.string().optional(),
  createdAt: z.number().optional(),
  updatedAt: z.number(),
  outcome: outcome.optional(),
  reason: reason.optional(),
  turns: z.int(),
  approvals: z.int(),
}) satisfies z.ZodType<SessionInfo>;

export const agentInfo = z.object({
  agentId: z.string(),
  agentType: z.string(),
  name: z.string().optional(),
  description: z.string(),
  path: z.array(z.string()),
}) satisfies z.ZodType<AgentInfo>;

export const linePage = z.object({
  /** Lines of the transcript. Their other fields depend on the type. */
  lines: z.array(
    z.looseObject({ v: z.literal(1), id: z.string(), type: z.string(), at: z.number(), seq: z.number().optional() }),
  ),
  /** Id of the last line, if there are more. */
  next: z.string().optional(),
});

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

export const agentCatalog = z.object({
  agents: z.array(z.looseObject({ name: z.string(), source: z.string(), description: z.string() })),
  switchedOff: z.array(z.object({ name: z.string(), reason: z.string() })),
  diagnostics: z.array(
    z.looseObject({ severity: z.string(), file: z.string(), line: z.number(), code: z.string(), message: z.string() }),
  ),
  trusted: z.boolean(),
  off: z.array(z.string()),
  root: z.string(),
  tokens: z.number(),
}) satisfies z.ZodType<{ [Key in keyof AgentList]: unknown }>;
