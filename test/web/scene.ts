import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { createDeferred } from "../../src/lib/index.ts";
import { type Conversation, createApiServer, type Reply, type ReplyPart, type Step } from "../../src/testing/index.ts";

/** A project, a model that delegates a task to three agents, and `retinue serve`. */
export interface Scene {
  /** Link that opens the page signed in. */
  readonly link: string;
  readonly url: string;
  readonly cwd: string;
  /** Lets the agent that fixes invoices end its work. */
  finishInvoice(): void;
  /** Ends the server as Ctrl+C does. */
  stopServer(): Promise<void>;
  /** Ends the server without giving it time to record anything. */
  killServer(): Promise<void>;
  /** Starts the server again on the same port. Returns its new link. */
  startServer(): Promise<string>;
  close(): Promise<void>;
}

export const PROMPT = "Round prices half to even everywhere, keep the API as it is, and prove it.";
export const COMMAND = "npm test -- cart\nnpm test -- price";

const program = resolve(import.meta.dirname, "../../dist/cli.cjs");

/** Opens a scene. `answers` replaces the model's usual answers. */
export async function openScene(answers?: readonly Conversation[]): Promise<Scene> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-web-")));
  const cwd = createProject(join(root, "shop-api"));
  const invoice = createDeferred<void>();
  const api = await createApiServer({ script: { conversations: answers ?? conversations(invoice.promise) } });
  const environment = {
    PATH: process.env["PATH"],
    HOME: root,
    RETINUE_HOME: join(root, "home"),
    ANTHROPIC_API_KEY: "key-of-the-test",
    ANTHROPIC_BASE_URL: api.url,
  };
  execFileSync(process.execPath, [program, "trust", "add"], { cwd, env: environment });
  let server = await serve(cwd, environment, "0");
  const port = new URL(server.url).port;
  return {
    link: server.link,
    url: server.url,
    cwd,
    finishInvoice: () => invoice.resolve(),
    stopServer: () => stop(server.child),
    killServer: () => stop(server.child, "SIGKILL"),
    startServer: async () => {
      server = await serve(cwd, environment, port);
      return server.link;
    },
    close: async () => {
      invoice.resolve();
      await stop(server.child);
      await api.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function createProject(directory: string): string {
  mkdirSync(join(directory, "src/cart"), { recursive: true });
  mkdirSync(join(directory, "src/invoice"));
  writeFileSync(join(directory, "package.json"), '{ "name": "shop-api", "scripts": { "test": "true" } }\n');
  writeFileSync(join(directory, "src/cart/price.ts"), priceBefore);
  writeFileSync(join(directory, "src/invoice/total.ts"), 'import { roundPrice } from "../cart/price.ts";\n');
  mkdirSync(join(directory, ".agents/agents"), { recursive: true });
  writeFileSync(join(directory, ".agents/agents/price-auditor.md"), AUDITOR);
  writeFileSync(join(directory, ".agents/agents/invoice-checker.md"), CHECKER);
  return directory;
}

/** An agent with a few mistakes in its definition. */
const AUDITOR = `---
name: price-auditor
description: Helps with prices and other things when needed.
tools: Read, Grpe, Task, Bash(npm test *)
model: medium
permissionMode: acceptEdits
maxTurns: 12
color: pink
---
You audit how prices are computed. Look at every place that rounds, and report those that differ.
`;

const CHECKER = `---
name: invoice-checker
description: Checks that invoices round prices as the cart does. Use after changes to prices.
color: purple
---
You compare how invoices and the cart round prices.
`;

interface Served {
  readonly child: ChildProcess;
  readonly url: string;
  readonly link: string;
}

async function serve(cwd: string, environment: NodeJS.ProcessEnv, port: string): Promise<Served> {
  const child = spawn(process.execPath, [program, "serve", "--port", port, "--json"], {
    cwd,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => void child.kill());
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { child, ...(JSON.parse(String(line)) as Pick<Served, "url" | "link">) };
}

async function stop(child: ChildProcess, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

const priceBefore = `/** Rounds a price to cents. */
export function roundPrice(price: number): number {
  return Math.round(price * 100) / 100;
}
`;

export const task = (description: string, prompt: string, type = "general-purpose"): ReplyPart => ({
  tool: "Task",
  input: { description, prompt, subagent_type: type },
});
const pacing = { chunkMs: 4, chunkCharacters: 24 };
export const say = (...content: ReplyPart[]): Step => ({ reply: { content, pacing } });

/** The model's answers: to the main agent, and to each subagent by the first words of its prompt. */
function conversations(invoiceDone: Promise<void>): readonly Conversation[] {
  const last: Reply = { content: REPORT, pacing };
  return [
    {
      name: "explore",
      match: { firstUserContains: "EXPLORE:" },
      steps: [
        say({ tool: "Grep", input: { pattern: "roundPrice", path: "src" } }),
        say({ tool: "Read", input: { file_path: "src/cart/price.ts" } }),
        say("`roundPrice` in **src/cart/price.ts** is the only place that rounds. `src/invoice/total.ts` uses it."),
      ],
    },
    {
      name: "cart",
      match: { firstUserContains: "CART:" },
      steps: [
        say("I found the rounding in `src/cart/price.ts`.", {
          tool: "Read",
          input: { file_path: "src/cart/price.ts" },
        }),
        say({
          tool: "Edit",
          input: {
            file_path: "src/cart/price.ts",
            old_string: "  return Math.round(price * 100) / 100;",
            new_string:
              "  const cents = price * 100;\n  const down = Math.floor(cents);\n  const isTie = cents - down === 0.5;\n  return (isTie ? down + (down % 2) : Math.round(cents)) / 100;",
          },
        }),
        say("Now I'll run the cart's tests.", { tool: "Bash", input: { command: COMMAND } }),
        say("The cart rounds half to even. All tests pass."),
      ],
    },
    {
      name: "invoice",
      match: { firstUserContains: "INVOICE:" },
      steps: [
        say({ tool: "Read", input: { file_path: "src/invoice/total.ts" } }),
        {
          reply: async () => {
            await invoiceDone;
            return { content: "Invoices use `roundPrice`, so nothing has to change.", pacing };
          },
        },
      ],
    },
    {
      name: "main",
      steps: [
        say(
          "I'll have one agent find every place that rounds, and two others work on the cart and the invoices.",
          task("find rounding", "EXPLORE: Find every place that rounds a price.", "Explore"),
          task("cart", "CART: Round half to even in the cart, and prove it with its tests."),
          task("invoices", "INVOICE: Check that invoices round in the same way.", "invoice-checker"),
        ),
        { reply: last, times: "always" as const },
      ],
    },
  ];
}

const REPORT = `Prices are now rounded **half to even**. The API is unchanged.

| file | change |
|---|---|
| \`src/cart/price.ts\` | rounds ties to the even cent |
| \`src/invoice/total.ts\` | unchanged, uses \`roundPrice\` |

\`\`\`ts
// A tie goes to the even cent.
const isTie = cents - down === 0.5;
return (isTie ? down + (down % 2) : Math.round(cents)) / 100;
\`\`\`

1. The cart's tests pass.
2. Invoices get the same result for **2.675** and \`0.125\`.
`;
