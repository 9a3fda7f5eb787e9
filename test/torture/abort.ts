import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkFamily } from "../reliability/check-family.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { type Ended, runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { childIn, promptOf } from "../reliability/family.ts";
import { createPlace, livingIn, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { type Campaign, runCases, type Verdict } from "./campaign.ts";

const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Way = keyof typeof signals | "reader gone" | "kill -9 and resume";
export const ways: readonly Way[] = ["SIGINT", "SIGTERM", "SIGHUP", "reader gone", "kill -9 and resume"];

/** Commands that can leave processes behind. Each runs for ten minutes unless it is ended. */
const shapes: Readonly<Record<string, string>> = {
  "plain child": "sleep 600; true",
  "background child": "sleep 600 & wait",
  pipeline: "sleep 600 | cat | cat",
  "deaf to TERM": "(trap '' TERM; sleep 600 & sleep 600; sleep 600)",
  setsid: "setsid sleep 600 & wait",
  "double fork with setsid nohup": "(setsid nohup sleep 600 >/dev/null 2>&1 </dev/null &); sleep 600",
};

/** No matter how a session ends and what processes it has started, none of them keeps running. */
export const abort: Campaign = (options) => {
  const cases = ways.flatMap((way) =>
    Object.values(shapes).flatMap((command) => [
      { way, command, sandbox: "off" as const },
      { way, command, sandbox: "auto" as const },
    ]),
  );
  return runCases(options, cases, ({ way, command, sandbox }) => abortOne(way, command, { sandbox }));
};

/** Tests all six commands together, once for each way of ending a session. */
export const abortQuickly: Campaign = (options) => {
  const all = Object.values(shapes).map((shape) => `(${shape}) &`);
  return runCases(options, ways, (way) => abortOne(way, `${all.join("\n")} wait`));
};

/** The same campaign with a subagent that runs the command while the main agent waits for it. */
export const abortFamily: Campaign = (options) => {
  const cases = familyWays.flatMap((way) => Object.values(shapes).map((command) => ({ way, command })));
  return runCases(options, cases, ({ way, command }) => abortOne(way, command, { byChild: true }));
};

/** Tests the most stubborn command by itself, with one signal and with a kill. */
export const abortFamilyQuickly: Campaign = (options) =>
  runCases(options, ["SIGINT", "kill -9 and resume"] as const, (way) =>
    abortOne(way, shapes["deaf to TERM"] ?? "", { byChild: true }),
  );

const familyWays = ways.filter((way) => way !== "reader gone");

interface Circumstances {
  /** Whether the command is run by a subagent. */
  readonly byChild?: boolean;
  /** With `auto` and a working sandbox, the system itself ends the processes of a killed session. */
  readonly sandbox?: "off" | "auto";
}

async function abortOne(
  way: Way,
  command: string,
  { byChild = false, sandbox = "off" }: Circumstances = {},
): Promise<Verdict> {
  const place = createPlace({ sandbox });
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const input = { command: `: > ready; ${command}`, run_in_background: way === "reader gone" };
  const server = await createApiServer({
    script: async (request, { turn }) => {
      if (turn === 1 && byChild && childIn(request) === undefined) return { content: [task] };
      if (turn === 1) return { content: ["Starting.", { tool: "Bash", input }] };
      if (way === "reader gone") await gate;
      return { content: "All done." };
    },
  });
  try {
    const started = await startAndWait(place, server);
    const violations: string[] = [];
    if (started.processes < 2) violations.push(`${way}: only ${started.processes} processes ran`);
    await endBy(way, { started, openGate: open });
    if (way === "kill -9 and resume") violations.push(...(await resume(place, server, sandbox)));
    const left = await afterFiveSeconds(place);
    if (left.length > 0) violations.push(`I8 ${way}: ${left.length} processes are still running after ${command}`);
    for (const pid of left) process.kill(pid, "SIGKILL");
    const end = await started.ended;
    if (way in signals && end.code !== signals[way as keyof typeof signals]) {
      violations.push(`${way}: exit code ${end.code}, signal ${end.signal}`);
    }
    const transcript = transcriptPath(place) ?? "";
    const check = byChild ? checkFamily : checkInvariants;
    const checked = check({ place, transcript, requests: server.requests });
    violations.push(...checked.violations.map((text) => `${way}: ${text}`));
    place.remove();
    return { violations, work: { processes: started.processes, calls: checked.work.calls } };
  } finally {
    open();
    await server.close();
  }
}

const task = {
  tool: "Task",
  input: { description: "start it", prompt: promptOf(0), subagent_type: "general-purpose" },
};

interface Started {
  readonly child: ReturnType<typeof startCommandLine>["child"];
  readonly ended: Promise<Ended>;
  readonly processes: number;
}

const flags = ["--permission-mode", "bypassPermissions", "--output-format", "stream-json"];

async function startAndWait(place: Place, server: ApiServer): Promise<Started> {
  const { child, ended } = startCommandLine({ place, url: server.url, args: ["-p", "Start it.", ...flags] });
  while (!existsSync(join(place.cwd, "ready")) && child.exitCode === null) await wait(10);
  // The shell has started. Wait until the number of processes that it runs no longer changes.
  let processes = 0;
  for (let seen = -1; seen !== processes || processes < 3; await wait(150)) {
    seen = processes;
    processes = livingIn(place).length;
    if (child.exitCode !== null) break;
  }
  return { child, ended, processes: processes - 1 };
}

async function endBy(way: Way, { started, openGate }: { started: Started; openGate: () => void }): Promise<void> {
  if (way === "kill -9 and resume") {
    started.child.kill("SIGKILL");
    await started.ended;
  } else if (way === "reader gone") {
    started.child.stdout?.destroy();
    openGate();
  } else started.child.kill(way);
}

async function resume(place: Place, server: ApiServer, sandbox: "off" | "auto"): Promise<string[]> {
  const violations =
    livingIn(place).length > 0 || sandbox === "auto" ? [] : ["kill -9 left no processes behind, so nothing was tested"];
  const args = ["-p", "--resume", sessionIdOf(transcriptPath(place) ?? ""), ...flags];
  const { code, stderr } = await runCommandLine({ place, url: server.url, args });
  return code === 0 ? violations : [...violations, `the resume ended with ${code}: ${stderr}`];
}

/** Returns the processes that are still running after five seconds, or returns earlier if no process is left. */
async function afterFiveSeconds(place: Place): Promise<number[]> {
  const deadline = performance.now() + 5_000;
  while (livingIn(place).length > 0 && performance.now() < deadline) await wait(50);
  return livingIn(place);
}
