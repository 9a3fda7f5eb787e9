import type { ResultStore, ToolExecutor, WorkerFacts, WorkerPort, WorkerSession } from "../../src/ports/index.ts";
import type { ToolDeclaration } from "../../src/protocol/index.ts";

/** One end of a channel that carries JSON, such as a child process or the process of its parent. */
export interface Channel {
  send(packet: object): unknown;
  receive(listener: (packet: unknown) => void): void;
}

type Handlers = Readonly<Record<string, (args: readonly never[], signal: AbortSignal) => unknown>>;
type Packet =
  | { readonly kind: "call"; readonly id: number; readonly method: string; readonly args: readonly never[] }
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly value?: unknown; readonly error?: string };
export type Call = <Value>(method: string, args: readonly unknown[], signal?: AbortSignal) => Promise<Value>;

/** Connects one end of a channel. Returns a function that calls the handlers of the other end. */
export function connect(channel: Channel, handlers: Handlers): Call {
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  const running = new Map<number, AbortController>();
  let count = 0;
  channel.receive((received) => {
    const packet = received as Packet;
    if (packet.kind === "abort") running.get(packet.id)?.abort();
    if (packet.kind === "call") void perform(packet);
    if (packet.kind !== "answer") return;
    const { resolve, reject } = waiting.get(packet.id)!;
    waiting.delete(packet.id);
    if (packet.error === undefined) resolve(packet.value as never);
    else reject(new Error(packet.error));
  });

  async function perform({ id, method, args }: Extract<Packet, { kind: "call" }>): Promise<void> {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      channel.send({ kind: "answer", id, value: await handlers[method]!(args, controller.signal) });
    } catch (error) {
      channel.send({ kind: "answer", id, error: String(error) });
    } finally {
      running.delete(id);
    }
  }

  return (method, args, signal) =>
    new Promise((resolve, reject) => {
      count += 1;
      const id = count;
      waiting.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => channel.send({ kind: "abort", id }), { once: true });
      channel.send({ kind: "call", id, method, args });
    });
}

interface OpenedSession extends Pick<WorkerSession, "readableRoots"> {
  readonly platform: string;
  readonly tools: readonly {
    readonly declaration: ToolDeclaration;
    readonly traits: ReturnType<ToolExecutor["traits"]>;
  }[];
}

/** Offers a worker to a session at the other end of a channel. The worker has one session. */
export function serveWorker(worker: WorkerPort, call: () => Call): Handlers {
  let session: WorkerSession;
  const executors = new Map<string, ToolExecutor>();
  const at = (root: string): ToolExecutor => {
    const executor = executors.get(root) ?? session.executor(root);
    executors.set(root, executor);
    return executor;
  };
  const results: ResultStore = {
    save: (...args) => call()("save", args),
    saveFile: (...args) => call()("saveFile", args),
  };
  return {
    snapshot: ([request]) => worker.snapshot(request!),
    openMemory: ([request]) => worker.openMemory(request!),
    open: async ([options]): Promise<OpenedSession> => {
      session = await worker.open({ ...(options as unknown as object), results, report: () => undefined } as never);
      const { readableRoots, environment } = session;
      const executor = at(worker.describe().root);
      const tools = executor
        .declarations()
        .map((declaration) => ({ declaration, traits: executor.traits(declaration.name) }));
      return { readableRoots, platform: environment.platform, tools };
    },
    git: ([directory]) => session.environment.git(directory!),
    commands: () => session.environment.commands(),
    runHook: ([hook], signal) => session.runHook(hook!, signal),
    judge: ([root, toolCall, policy]) => at(root!).judge(toolCall!, policy!),
    execute: ([root, request], signal) => at(root!).execute(request!, () => undefined, signal),
    release: ([root, agentId]) => at(root!).release(agentId!),
    closeExecutor: ([root]) => at(root!).close(),
    close: () => session.close(),
  };
}

/** Creates a worker whose files and processes are at the other end of a channel. Has what the walk of a project needs. */
export function linkedWorker(facts: WorkerFacts, connected: (handlers: Handlers) => Call): WorkerPort {
  let results: ResultStore;
  const call = connected({
    save: ([id, text]) => results.save(id!, text!),
    saveFile: ([id, path]) => results.saveFile(id!, path!),
  });
  const unused = (): never => {
    throw new Error("This worker does not offer this.");
  };
  return {
    describe: () => facts,
    snapshot: (request) => call("snapshot", [request]),
    openMemory: (request) => call("openMemory", [request]),
    settings: unused,
    watch: unused,
    sweep: unused,
    open: async ({ results: given, report: _, ...options }) => {
      results = given;
      const { readableRoots, platform, tools } = await call<OpenedSession>("open", [options]);
      const executor = (root: string): ToolExecutor => ({
        declarations: () => tools.map(({ declaration }) => declaration),
        traits: (name) => tools.find(({ declaration }) => declaration.name === name)!.traits,
        judge: (...args) => call("judge", [root, ...args]),
        execute: (request, _emit, signal) => call("execute", [root, request], signal),
        release: (agentId) => call("release", [root, agentId]),
        close: () => call("closeExecutor", [root]),
      });
      return {
        readableRoots,
        environment: { platform, git: (path) => call("git", [path]), commands: () => call("commands", []) },
        executor,
        runHook: (hook, signal) => call("runHook", [hook], signal),
        connectServers: unused,
        serverExecutor: unused,
        releaseServers: unused,
        openWorktree: unused,
        leaveWorktree: async () => undefined,
        keepRule: unused,
        close: () => call("close", []),
      };
    },
  };
}
