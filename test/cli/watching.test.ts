import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createPlace,
  type Ended,
  ended,
  jsonLines,
  type Place,
  retinue,
  retinueProcess,
  type StartOptions,
  serve,
  startRetinue,
} from "./command-line.ts";

const task = (prompt: string, more: Readonly<Record<string, unknown>> = {}) => ({
  tool: "Task",
  input: { description: "make a file", prompt, subagent_type: "general-purpose", ...more },
});
const bash = { tool: "Bash", input: { command: "touch made" } };

/**
 * Script: the main agent waits for a subagent, which waits for approval, while another subagent works in the
 * background.
 */
const waiting = (...more: readonly ReturnType<typeof task>[]) => ({
  conversations: [
    {
      match: { firstUserContains: "MAIN:" },
      steps: [
        {
          reply: {
            content: [task("BACK: look", { run_in_background: true, name: "scout" }), task("CHILD: make it"), ...more],
          },
        },
        { reply: { content: "Made." }, times: "always" as const },
      ],
    },
    {
      match: { firstUserContains: "CHILD:" },
      steps: [{ reply: { content: [bash] } }, { reply: { content: "Done." } }],
    },
    {
      match: { firstUserContains: "BACK:" },
      steps: [{ reply: { content: "", fault: { kind: "hang" as const } }, times: "always" as const }],
    },
  ],
});

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
}

/** Starts a command, and resolves when its output contains the text. */
async function startUntil(text: string, words: readonly string[], options: StartOptions): Promise<Started> {
  const child = startRetinue(words, options);
  child.stdin.end();
  const started = { child, ended: ended(child) };
  await told(child, text);
  return started;
}

async function told(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let seen = "";
  await new Promise<void>((found, failed) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes) => {
        seen += String(bytes);
        if (seen.includes(text)) found();
      });
    child.on("close", () => failed(new Error(`It ended without "${text}": ${seen}`)));
  });
}

interface Row {
  readonly sessionId: string;
  readonly agentId: string;
  readonly state: string;
  readonly [key: string]: unknown;
}

async function listed(place: Place, ...words: string[]): Promise<readonly Row[]> {
  return JSON.parse((await retinue(["ps", "--json", ...words], place)).stdout) as readonly Row[];
}

/** Script: the main agent reads a file, then waits for a subagent that needs approval. */
const asking = {
  conversations: [
    {
      match: { firstUserContains: "MAIN:" },
      steps: [
        { reply: { content: ["First I look.", { tool: "Read", input: { file_path: "a.txt" } }] } },
        { reply: { content: ["Now I delegate.", task("CHILD: make it")] } },
        { reply: { content: "It is made." } },
      ],
    },
    {
      match: { firstUserContains: "CHILD:" },
      steps: [{ reply: { content: [bash] } }, { reply: { content: "Done." } }],
    },
  ],
};

describe("retinue attach", () => {
  it("follows a session in another process, or one of its agents, to the end without changing it", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "a.txt"), "hello\n");
    const words = ["-p", "MAIN: go", "--on-ask", "wait"];
    const run = await startUntil("retinue approvals answer ask_", words, { ...place, server: await serve(asking) });
    const [main, child] = await listed(place);
    const id = main?.sessionId ?? "";
    const question = "Bash touch made from general-purpose is waiting for your answer.";
    const session = await startUntil(question, ["attach", id.slice(-6)], place);
    const agent = await startUntil("is waiting", ["attach", `${id}/agent-${child?.agentId}`], place);
    const json = await startUntil("approval.requested", ["attach", id, "--json", "--from", "start"], place);

    const left = await startUntil("is waiting for your answer", ["attach", id], place);
    left.child.kill("SIGINT");
    expect(await left.ended).toMatchObject({
      code: 130,
      stdout: expect.stringContaining(
        `\nretinue: No longer following session ${id}. It continues. To follow it again: retinue attach ${id}\n`,
      ),
    });
    const [request = ""] = /ask_\w+/.exec((await retinue(["approvals", "list"], place)).stdout) ?? [];
    expect(await retinueProcess(["approvals", "answer", request, "allow"], place)).toMatchObject({ code: 0 });
    expect(await run.ended).toMatchObject({ code: 0, stdout: "It is made.\n" });

    const whole = await session.ended;
    expect(whole.code).toBe(0);
    expect(whole.stdout).toMatch(/✓ general-purpose make a file · succeeded · 1 call .*\n✓ Task make a file · .*\n/);
    expect(whole.stdout).toMatch(/\nIt is made\.\n\n── succeeded · 3 turns .*\n/);
    expect(whole.stdout.endsWith(`\nretinue: The session ${id} has ended: succeeded.\n`)).toBe(true);
    const { stdout } = await agent.ended;
    expect(stdout).toMatch(/\n✓ Bash touch made · .*\n\nDone\.\n\n── succeeded · 2 turns /);
    expect(stdout).toMatch(new RegExp(`\nretinue: The agent ${child?.agentId} has ended: succeeded\\.`));

    const updates = jsonLines(await json.ended);
    const seqs = updates.map(({ seq }) => Number(seq));
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(new Set(updates.map(({ agentId }) => agentId))).toEqual(new Set(["main", child?.agentId]));
    const exported = jsonLines(await retinue(["sessions", "export", id], place));
    expect(updates.map(({ event }) => event)).toHaveLength(exported.length);

    const again = await retinue(["attach", id], place);
    expect(again.stdout).toMatch(new RegExp(`^Session ${id} · not running · 2 earlier turns not shown`));
    expect(again.stdout).not.toContain("Now I delegate.");
    const all = (await retinue(["attach", id, "--from", "start"], place)).stdout;
    expect(all).toMatch(/You: MAIN: go\n\nFirst I look\.\n✓ Read a\.txt · .*\n\nNow I delegate\.\n/);
    expect(all).not.toContain("waiting for your answer");
  });

  it("reports that a session was cut off, and how to continue it", async () => {
    const place = createPlace();
    const words = ["-p", "MAIN: go", "--on-ask", "wait"];
    const run = await startUntil("retinue approvals answer ask_", words, { ...place, server: await serve(waiting()) });
    const [main] = await listed(place);
    const following = await startUntil("is waiting", ["attach", main?.sessionId ?? ""], place);
    run.child.kill("SIGKILL");
    expect((await following.ended).stdout).toContain(
      `retinue: The session ${main?.sessionId} has ended: cut off, because the process ended before the run did. ` +
        `To continue: retinue resume ${main?.sessionId} --on-ask wait\n`,
    );
    const scout = await retinue(["attach", `${main?.sessionId}/scout`], place);
    expect(scout).toMatchObject({ code: 0, stdout: expect.stringContaining("Asked: BACK: look") });
  });
});

describe("retinue ps", () => {
  it("lists the agents of a session in another process, and after it has died, those that can be resumed", async () => {
    const place = createPlace();
    const elsewhere = { ...place, cwd: join(place.cwd, "elsewhere") };
    mkdirSync(elsewhere.cwd);
    expect((await retinue(["ps"], place)).stdout).toBe(
      `No agents in ${place.cwd} are running or can be resumed. To look everywhere, run "retinue ps --all".\n`,
    );
    mkdirSync(place.home, { recursive: true });
    writeFileSync(join(place.home, "settings.json"), '{ "budget": { "concurrent": 2 } }');
    const server = await serve(waiting(task("LATE: look", { description: "look later" })));
    const words = ["-p", "MAIN: go", "--on-ask", "wait"];
    const run = await startUntil("retinue approvals answer ask_", words, { ...place, server });

    const rows = await listed(place);
    expect(rows.map(({ agentId, state }) => [agentId, state])).toEqual([
      ["main", "waitingForAgents"],
      [expect.stringMatching(/^a\w{12}$/), "running"],
      [expect.stringMatching(/^a\w{12}$/), "waitingForApproval"],
      [expect.stringMatching(/^a\w{12}$/), "delayed"],
    ]);
    expect(rows[0]).toMatchObject({ cwd: place.cwd, description: "MAIN: go", turns: 1 });
    expect(rows[0]?.["calls"]).toEqual(["Task make a file", "Task look later"]);
    expect(rows[1]).toMatchObject({ name: "scout", agentType: "general-purpose", background: true, turns: 1 });
    expect(rows[2]).toMatchObject({ description: "make a file", background: false, calls: ["Bash touch made"] });
    expect(rows[2]?.["tokens"]).toBeGreaterThan(0);

    const { stdout } = await retinue(["ps"], place);
    const id = rows[0]?.sessionId ?? "";
    expect(stdout).toMatch(/^SESSION +AGENT +TYPE +STATE +AGE +TURNS +TOKENS +COST +LAST EVENT +WORK\n/);
    expect(stdout).toMatch(new RegExp(`\n${id.slice(-6)} +main +main +waiting for agents +\\d+ s +1 +[\\d,]+ `));
    expect(stdout).toMatch(/ +general-purpose \(scout\) +working \(background\) .* s ago +make a file\n/);
    expect(stdout).toMatch(/ +waiting for a slot +\d+ s .* look later\n/);
    expect(stdout).toMatch(/ +waiting for approval +\d+ s .* Bash touch made · make a file\n/);
    expect((await retinue(["ps"], elsewhere)).stdout).toContain("No agents in");
    expect((await retinue(["ps", "--all"], elsewhere)).stdout).toMatch(/ DIRECTORY +WORK\n(.*work .*\n){4}$/);
    expect((await retinue(["sessions", "show", `${id.slice(-6)}/scout`], place)).stdout).toContain("Asked: BACK: look");
    expect((await retinue(["cache", "explain", `${id}/agent-${rows[2]?.agentId}`], place)).code).toBe(0);

    run.child.kill("SIGKILL");
    await run.ended;
    const lost = await listed(place);
    expect(lost.map(({ state, reason }) => [state, reason])).toEqual(Array(3).fill(["ended", "process_lost"]));
    expect((await retinue(["ps"], place)).stdout).toMatch(/ cut off: process lost, can be resumed \(background\) /);
  });

  it("omits agents that have succeeded, and says that it omits old sessions", async () => {
    const place = createPlace();
    await retinue(["-p", "Say one."], { ...place, server: await serve([{ content: "One." }]) });
    expect(await listed(place)).toEqual([]);
    await retinue(["-p", "Say two."], { ...place, server: await serve([]) });
    const [row] = await listed(place);
    expect(row).toMatchObject({ agentId: "main", state: "ended", outcome: "failed", reason: "model_error" });
    const project = join(place.home, "projects", readdirSync(join(place.home, "projects"))[0] ?? "");
    for (let index = 10; index < 32; index += 1)
      cpSync(join(project, `${row?.sessionId}.jsonl`), join(project, `${row?.sessionId}${index}.jsonl`));
    const { stdout } = await retinue(["ps"], place);
    expect(stdout.match(/ failed: model error, can be resumed /g)).toHaveLength(20);
    expect(stdout).toContain("\nLeft out: 4 older sessions that are not running. ");
    expect((await retinue(["ps", "--json"], place)).stderr).toContain("Left out: 4 older sessions");
    // The end of each shown id identifies one session, even though all ids begin with the same characters.
    const ids = [...stdout.matchAll(/^(\w+) +main /gm)].map(([, id = ""]) => id);
    expect(new Set(ids).size).toBe(20);
    expect((await retinue(["sessions", "show", ids[0] ?? ""], place)).code).toBe(0);
  });
});
