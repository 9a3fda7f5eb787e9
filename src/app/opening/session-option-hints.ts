const COST_LIMIT = "To limit the cost, use `settings: { budget: { usd: 1 } }`.";
const APPROVER = "Use `approvals: { ask }`, a function that answers requests for approval.";
const PROMPT = "Pass the prompt to `session.prompt(prompt)`, or as the first argument of `run`.";
const OUTPUT = "Pass `output` with the prompt: `session.prompt(text, { output })` or `run(text, { output })`.";
const EVENTS = "Read a run's events: `for await (const event of session.prompt(text))`.";
const STREAM = "Read a run's text as it is written: `for await (const part of session.prompt(text).textStream)`.";
const RESUME = "Use `resume` with a session's id, such as one from `sessions.list()`.";
const BASE_URL = 'Use `environment: { ANTHROPIC_BASE_URL: "…" }`, or `settings: { providers }`.';
const PROVIDER = "Use `settings: { providers }`; docs/models.md describes it.";

/** Hints for other libraries' option names that are passed to `session.prompt` or `session.subagents.start`. */
export const promptOptionHints: Readonly<Record<string, string>> = {
  schema: "Use output.",
  outputFormat: "Use output.",
  outputType: "Use output.",
  responseFormat: "Use output.",
  abortController: "Use `signal: controller.signal`.",
  abortSignal: "Use signal.",
  when: 'To send a message to a running agent, use `session.send({ id, type: "prompt", to, content, when: "now" })`.',
};

/** Hints for other libraries' option names that are passed to `openSession` or `run`. */
export const sessionOptionHints: Readonly<Record<string, string>> = {
  prompt: PROMPT,
  messages: PROMPT,
  options: "Pass the options directly, not inside an `options` object.",
  budget: COST_LIMIT,
  maxCost: COST_LIMIT,
  maxCostUsd: COST_LIMIT,
  maxBudgetUsd: COST_LIMIT,
  maxSteps: "Use maxTurns.",
  stopWhen: "Use maxTurns.",
  timeout: "Use `settings: { budget: { seconds: 60 } }`.",
  appendSystemPrompt: "Use `systemPrompt: { append: text }`.",
  customSystemPrompt: "Use systemPrompt.",
  instructions: "Use systemPrompt.",
  system: "Use systemPrompt.",
  canUseTool: APPROVER,
  onApproval: APPROVER,
  allowDangerouslySkipPermissions: 'Use `permissionMode: "bypassPermissions"`.',
  additionalDirectories: "Use `settings: { permissions: { additionalDirectories } }`.",
  sandbox: "Use `settings: { sandbox }`.",
  activeTools: "Remove tools with disallowedTools, or give the main agent a definition with a list of tools.",
  abortController: "Use `signal: controller.signal`.",
  abortSignal: "Use signal.",
  apiKey: 'Set it as an environment variable, or with `environment: { ANTHROPIC_API_KEY: "…" }`.',
  baseUrl: BASE_URL,
  baseURL: BASE_URL,
  headers: PROVIDER,
  maxTokens: PROVIDER,
  maxOutputTokens: PROVIDER,
  modelProvider: "Use provider.",
  thinking: "Use effort.",
  maxThinkingTokens: "Use effort.",
  reasoningEffort: "Use effort.",
  output: OUTPUT,
  outputFormat: OUTPUT,
  outputType: OUTPUT,
  schema: OUTPUT,
  stream: STREAM,
  includePartialMessages: STREAM,
  onChunk: STREAM,
  onFinish: EVENTS,
  onStepFinish: EVENTS,
  continue: RESUME,
  sessionId: RESUME,
  conversationId: RESUME,
  session: RESUME,
  persistSession: "Use `home: false` to keep nothing on disk.",
  settingSources: "Load the settings with `loadProjectSettings`, and pass its `settings` and `rules`.",
  handoffs: "Use agents.",
  subagents: "Use agents.",
  inputGuardrails: "Use hooks.",
  outputGuardrails: "Use hooks.",
  stderr: "Use onTrouble.",
  env: "Use environment.",
};
