import type { McpBehaviour } from "./behaviour.ts";
import { offerTools } from "./offer-tools.ts";

export interface McpMessage {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What the way of the messages (standard output, HTTP) can do. */
export interface McpWay {
  send(message: object): void;
  /** Dies as a crash would. */
  crash(): void;
}

/** One life of a test server. Gives the answer to a message, undefined for none. */
export function createMcpLife(behaviour: McpBehaviour) {
  let calls = 0;
  let changed = false;

  async function answer(message: McpMessage, way: McpWay): Promise<object | undefined> {
    const { id, method, params = {} } = message;
    if (id === undefined) return undefined;
    const reply = (result: object) => ({ jsonrpc: "2.0", id, result });
    const refuse = (code: number, text: string) => ({ jsonrpc: "2.0", id, error: { code, message: text } });
    switch (method) {
      case "initialize":
        if (behaviour.silent) return undefined;
        if (behaviour.slowStartMs) await new Promise((done) => setTimeout(done, behaviour.slowStartMs));
        return reply({
          protocolVersion: params["protocolVersion"],
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "test-server", version: "1" },
          ...(behaviour.instructions ? { instructions: behaviour.instructions } : {}),
        });
      case "tools/list":
        return page(offerTools(behaviour, { changed }), params["cursor"], reply);
      case "tools/call": {
        calls += 1;
        if (calls === behaviour.crashAtCall) {
          way.crash();
          return undefined;
        }
        if (calls === behaviour.hangAtCall) return undefined;
        if (calls === behaviour.changeToolsAtCall) {
          changed = true;
          way.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
        }
        return call(params, { calls, way, reply, refuse });
      }
      default:
        return refuse(-32_601, `There is no ${method}`);
    }
  }
  return { answer, calls: () => calls };
}

/** Three tools to a page, so that reading on is tested as well. */
function page(tools: object[], cursor: unknown, reply: (result: object) => object): object {
  const start = Number(cursor ?? 0);
  const rest = start + 3 < tools.length ? { nextCursor: String(start + 3) } : {};
  return reply({ tools: tools.slice(start, start + 3), ...rest });
}

interface Circumstances {
  readonly calls: number;
  readonly way: McpWay;
  readonly reply: (result: object) => object;
  readonly refuse: (code: number, text: string) => object;
}

function call(
  params: Readonly<Record<string, unknown>>,
  { calls, way, reply, refuse }: Circumstances,
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
      way.send({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
      // An answer in the same breath would overtake it.
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
