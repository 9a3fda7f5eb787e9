import {
  createTestServers,
  neverAborted,
  runTool,
  type TestServers,
  textOfOutput,
} from "../../src/mcp/servers.test-support.ts";
import type { RunnableMcpConnection } from "../../src/ports/index.ts";
import { type BuiltServer, buildMcpServer } from "../../src/testing/mcp-server/build-server.test-support.ts";
import type { McpBehavior } from "../../src/testing/mcp-server/mcp-server.test-support.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

const allowedMegabytes = 50;
/** Number of agents after which growth is measured. Before that, memory grows because of code that is loaded once. */
const warmUp = 20;

/** Half of the servers behave well, so that memory growth that only such servers cause is found too. */
const behaviors: readonly McpBehavior[] = [
  {},
  { crashAtCall: 2 },
  {},
  { hangAtCall: 2 },
  {},
  { junkLines: 20 },
  {},
  { changeToolsAtCall: 1, leavesChild: true },
  {},
  { exitAtStart: true },
  {},
  { oddTools: true, slowStartMs: 20 },
];

/**
 * Many agents in sequence, each with its own stdio server, leave no processes behind and cause no memory
 * growth.
 */
export const mcpServers: Campaign = async (options) => {
  const program = buildMcpServer();
  const servers = createTestServers({});
  let runs = 0;
  let before = 0;
  try {
    const report = await runSeeds(
      options,
      async (seed) => {
        runs += 1;
        if (runs === warmUp) before = residentMegabytes();
        return oneAgent(seed, { program, servers });
      },
      { workers: 1 },
    );
    if (runs <= warmUp) return report;
    const growth = Math.round(residentMegabytes() - before);
    const work = { ...report.work, [`MB of growth after ${warmUp} agents`]: growth };
    if (growth <= allowedMegabytes) return { ...report, work };
    return { ...report, work, passed: report.passed - 1, firstFailure: report.firstFailure ?? `grew by ${growth} MB` };
  } finally {
    await servers.remove();
    program.remove();
  }
};

async function oneAgent(
  seed: number,
  { program, servers }: { program: BuiltServer; servers: TestServers },
): Promise<Verdict> {
  const behavior = behaviors[seed % behaviors.length] ?? {};
  // Servers that respond get the default time limit, because a busy machine is slow.
  const patience = behavior.hangAtCall === undefined ? {} : { timeout: 300 };
  const uses = [{ name: "own", config: { ...program.config(behavior), ...patience } }];
  const connection = await servers.connect(uses, { owner: `a${seed}` }, neverAborted);
  const violations = behavior.exitAtStart
    ? connection.problems.length === 1
      ? []
      : ["a server that exits at startup was not reported"]
    : await callThrice(connection, behavior);
  await connection.release();
  const left = servers.processes();
  if (left > 0) violations.push(`${left} processes were left`);
  return {
    violations: violations.map((text) => `${JSON.stringify(behavior)}: ${text}`),
    work: { agents: 1, calls: behavior.exitAtStart ? 0 : 3 },
  };
}

/** The first and third calls must succeed. The second must fail with a reason if the server misbehaves. */
async function callThrice(connection: RunnableMcpConnection, behavior: McpBehavior): Promise<string[]> {
  const violations: string[] = [];
  const fails = behavior.crashAtCall !== undefined || behavior.hangAtCall !== undefined;
  for (const expected of [false, fails, false]) {
    const output = await runTool(connection, "mcp__own__count");
    const text = textOfOutput(output);
    if ((output.isError === true) !== expected) violations.push(`said ${text.slice(0, 300)}`);
    if (expected && !/was lost|did not respond/.test(text)) violations.push(`gave no reason: ${text.slice(0, 300)}`);
  }
  return violations;
}

function residentMegabytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss / 1024 ** 2;
}
