import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createApiServer, messagesOf, type ToolPart } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { startCommandLine } from "../reliability/command-line.ts";
import { createPlace, type Place, transcriptPath } from "../reliability/place.ts";
import { type Campaign, type CampaignOptions, type CampaignReport, runSeeds, type Verdict } from "./campaign.ts";

interface Flood {
  readonly name: string;
  readonly prepare?: (place: Place) => void;
  readonly call: ToolPart;
  /** Pattern that the tool result must match. */
  readonly says: RegExp;
}

const allowedMegabytes = 100;

const floods: readonly Flood[] = [
  {
    name: "150 MB of output",
    call: { tool: "Bash", input: { command: "yes | head -c 150000000" } },
    says: /left out|omitted|whole output|\.txt/,
  },
  {
    name: "one line of 50 MB",
    call: { tool: "Bash", input: { command: "head -c 50000000 /dev/zero | tr '\\0' x" } },
    says: /left out|omitted|whole output|\.txt/,
  },
  {
    name: "a FIFO",
    prepare: ({ cwd }) => void spawnSync("mkfifo", [join(cwd, "pipe")]),
    call: { tool: "Read", input: { file_path: "pipe" } },
    says: /not a (regular )?file/,
  },
  { name: "/dev/zero", call: { tool: "Read", input: { file_path: "/dev/zero" } }, says: /not a (regular )?file/ },
  {
    name: "a file of 1 GB",
    prepare: ({ cwd }) => {
      const descriptor = openSync(join(cwd, "sparse"), "w");
      ftruncateSync(descriptor, 1024 ** 3);
      closeSync(descriptor);
    },
    call: { tool: "Read", input: { file_path: "sparse" } },
    says: /binary|too (large|long|big)|GB|cut/,
  },
  {
    name: "a search in 1 GB",
    prepare: ({ cwd }) => {
      const descriptor = openSync(join(cwd, "sparse"), "w");
      ftruncateSync(descriptor, 1024 ** 3);
      closeSync(descriptor);
    },
    call: { tool: "Grep", input: { pattern: "thimble" } },
    says: /[Nn]o (match|files|hits)|nothing/,
  },
  {
    name: "100,000 hits",
    prepare: ({ cwd }) =>
      void spawnSync("bash", ["-c", "yes needle in a line of hay | head -n 100000 > hay.txt"], { cwd }),
    call: { tool: "Grep", input: { pattern: "needle", path: "hay.txt", output_mode: "content" } },
    says: /needle/,
  },
];

/** Huge outputs are truncated, with a note, and use at most 100 MB more memory than a run without them. */
export const hugeOutput: Campaign = (options) =>
  flood(
    options,
    floods.map((each) => [each]),
  );

/** All huge outputs in one session. The limit for all of them together is the same as for a single one. */
export const hugeOutputsTogether: Campaign = (options) => flood(options, [floods]);

async function flood(options: CampaignOptions, sessions: readonly (readonly Flood[])[]): Promise<CampaignReport> {
  const quiet = await highestMemory([{ name: "nothing", call: { tool: "LS", input: { path: "." } }, says: /./ }]);
  return runSeeds(
    { ...options, seed: 0, count: sessions.length },
    async (index) => {
      const session = sessions[index] ?? [];
      const { megabytes, violations } = await highestMemory(session);
      const more = Math.round(megabytes - quiet.megabytes);
      const names = session.map(({ name }) => name).join(", ");
      const all = [...quiet.violations, ...violations];
      if (more > allowedMegabytes) all.push(`${names}: ${more} MB more than without it`);
      return { violations: all, work: { floods: session.length, [`MB by ${names}`]: more } } satisfies Verdict;
    },
    { workers: 1 },
  );
}

async function highestMemory(session: readonly Flood[]): Promise<{ megabytes: number; violations: string[] }> {
  const place = createPlace();
  for (const { prepare } of session) prepare?.(place);
  const server = await createApiServer({
    script: [...session.map(({ call }) => ({ content: ["Now.", call] })), { content: "All done." }],
  });
  try {
    const args = ["-p", "Flood me.", "--permission-mode", "bypassPermissions"];
    const { child, ended } = startCommandLine({ place, url: server.url, args });
    let kilobytes = 0;
    const timer = setInterval(() => {
      kilobytes = Math.max(kilobytes, highWater(child.pid));
    }, 5);
    const { code, stderr } = await ended;
    clearInterval(timer);
    const violations = code === 0 ? [] : [`exit code ${code}: ${stderr}`];
    const transcript = transcriptPath(place) ?? "";
    violations.push(...checkInvariants({ place, transcript, requests: server.requests, ends: "done" }).violations);
    for (const [index, { name, says }] of session.entries()) {
      const [result] = messagesOf(await server.waitForRequest(index + 2)).at(-1)?.toolResults ?? [];
      const { text } = result ?? { text: "" };
      if (!says.test(text)) violations.push(`${name}: said ${text.slice(-300)}`);
      if (text.length > 40_000) violations.push(`${name}: gave the model ${text.length} characters`);
    }
    if (kilobytes === 0) violations.push("its memory was not measured");
    return { megabytes: kilobytes / 1024, violations };
  } finally {
    await server.close();
    place.remove();
  }
}

/** Returns the peak memory of a process in kilobytes, or 0 if it has ended. */
function highWater(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
