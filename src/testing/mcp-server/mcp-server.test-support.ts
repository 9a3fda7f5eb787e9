/** Faults of a test server. Calls are numbered from 1 each time the server starts. */
export interface McpBehavior {
  readonly instructions?: string;
  /** Exits immediately, with a message on standard error. */
  readonly exitAtStart?: boolean;
  /** Never answers `initialize`. */
  readonly silent?: boolean;
  /** Delays the answer to `initialize`. */
  readonly slowStartMs?: number;
  readonly crashAtCall?: number;
  readonly hangAtCall?: number;
  /** Writes this many lines that are not messages before every answer. */
  readonly junkLines?: number;
  /** From this call on, the server offers `other` instead of `echo`, and sends a notification about it. */
  readonly changeToolsAtCall?: number;
  /** Also offers tools with odd names and schemas. */
  readonly oddTools?: boolean;
  /** Starts a process that leaves its group and outlives its parent. */
  readonly leavesChild?: boolean;
  /** Ignores SIGTERM. */
  readonly stubborn?: boolean;
  /** HTTP only: breaks the connection in the middle of the answer to this call. */
  readonly breakAtCall?: number;
  /** HTTP only: forgets every session at this call. */
  readonly forgetAtCall?: number;
  /** HTTP only: answers with a stream of events instead of JSON. */
  readonly streams?: boolean;
  /** HTTP only: the required Authorization header. */
  readonly token?: string;
}

export interface McpMessage {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** How a server reaches its client: standard output or HTTP. */
export interface McpTransport {
  send(message: object): void;
  /** Ends the connection as a crash would. */
  crash(): void;
}

/** Creates a test server without a transport. Each instance represents one start of the server. */
export function createMcpServer(behavior: McpBehavior) {
  let calls = 0;
  let changed = false;

  /** Returns the answer to a message; undefined if the message gets no answer. */
  async function answer(message: McpMessage, transport: McpTransport): Promise<object | undefined> {
    const { id, method, params = {} } = message;
    if (id === undefined) return undefined;
    const reply = (result: object) => ({ jsonrpc: "2.0", id, result });
    const refuse = (code: number, text: string) => ({ jsonrpc: "2.0", id, error: { code, message: text } });
    switch (method) {
      case "initialize":
        if (behavior.silent) return undefined;
        if (behavior.slowStartMs) await new Promise((done) => setTimeout(done, behavior.slowStartMs));
        return reply({
          protocolVersion: params["protocolVersion"],
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "test-server", version: "1" },
          instructions: behavior.instructions,
        });
      case "tools/list":
        return reply(page(changed ? "other" : "echo", behavior, params["cursor"]));
      case "tools/call": {
        calls += 1;
        if (calls === behavior.crashAtCall) {
          transport.crash();
          return undefined;
        }
        if (calls === behavior.hangAtCall) return undefined;
        if (calls === behavior.changeToolsAtCall) {
          changed = true;
          transport.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
        }
        return call(params, { calls, transport, reply, refuse });
      }
      default:
        return refuse(-32_601, `There is no ${method}`);
    }
  }
  return { answer, calls: () => calls };
}

/** Returns a page of three tools, so that clients have to ask for more pages. */
function page(echoName: string, { oddTools }: McpBehavior, cursor: unknown): object {
  const all = oddTools ? [...toolsOf(echoName), ...odd] : toolsOf(echoName);
  const start = Number(cursor ?? 0);
  const next = start + 3;
  return { tools: all.slice(start, next), nextCursor: next < all.length ? String(next) : undefined };
}

const text = { type: "string" };

function toolsOf(echoName: string): object[] {
  return [
    {
      name: echoName,
      description: "Says it again.",
      inputSchema: { type: "object", properties: { text }, required: ["text"] },
      annotations: { readOnlyHint: true },
    },
    { name: "count", description: "Counts its calls.", inputSchema: { type: "object" } },
    { name: "content", description: "Returns content.", inputSchema: { type: "object", properties: { result: {} } } },
    {
      name: "big",
      description: "Returns a long text.",
      inputSchema: { type: "object", properties: { bytes: { type: "integer" } } },
    },
    {
      name: "environment",
      description: "Returns a variable.",
      inputSchema: { type: "object", properties: { name: text } },
    },
    { name: "fail", description: "Answers with a protocol error.", inputSchema: { type: "object" } },
    { name: "progress", description: "Reports progress and never ends.", inputSchema: { type: "object" } },
    { name: "where", description: "Returns its directory.", inputSchema: { type: "object" } },
  ];
}

const odd = [
  { name: "no.schema/at all", title: "Only a title" },
  { name: "no_schema_at_all", description: "d".repeat(5_000), inputSchema: "none" },
  { name: "choice", inputSchema: { anyOf: [{ type: "object" }], properties: { any: true, list: { items: [{}] } } } },
  { name: "pattern", inputSchema: { type: "object", properties: { text: { type: "string", pattern: "(" } } } },
  { name: "members", inputSchema: { type: "object", properties: { $top: text, "": {} }, required: ["$top"] } },
  { description: "has no name" },
  { name: "n".repeat(100), inputSchema: { type: "object" } },
];

interface CallContext {
  readonly calls: number;
  readonly transport: McpTransport;
  readonly reply: (result: object) => object;
  readonly refuse: (code: number, text: string) => object;
}

function call(
  params: Readonly<Record<string, unknown>>,
  { calls, transport, reply, refuse }: CallContext,
): object | undefined {
  const input = (params["arguments"] ?? {}) as Record<string, unknown>;
  const say = (text: string) => reply({ content: [{ type: "text", text }] });
  switch (params["name"]) {
    case "echo":
    case "other":
      return say(String(input["text"]));
    case "count":
      return say(String(calls));
    case "content":
      return reply(input["result"] as object);
    case "big":
      return say("x".repeat(Number(input["bytes"])));
    case "environment":
      return say(process.env[String(input["name"])] ?? "not set");
    case "progress": {
      const progressToken = (params["_meta"] as { progressToken?: unknown } | undefined)?.progressToken;
      const progress = { progressToken, progress: 1, total: 2, message: "Half" };
      transport.send({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
      // Send no answer, because one sent right after the notification would overtake it.
      return undefined;
    }
    case "members":
      return say(JSON.stringify(input));
    case "where":
      return say(process.cwd());
    case "fail":
      return refuse(-32_602, "The test asked for it");
    default:
      return reply({ isError: true, content: [{ type: "text", text: `There is no tool ${String(params["name"])}` }] });
  }
}
