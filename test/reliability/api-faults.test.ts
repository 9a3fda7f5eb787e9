import { describe, expect, it } from "vitest";
import { createApiServer, type Fault, messagesOf, type Step } from "../../src/testing/index.ts";
import { anyFaults, apiFaults, apiFaultsFamily, callFaults, workUnderFaults } from "../torture/api-faults.ts";
import { checkInvariants } from "./check-invariants.ts";
import { startCommandLine } from "./command-line.ts";
import { createPlace, readTranscript, transcriptPath } from "./place.ts";

describe("model API faults", () => {
  // Tests one fault of each kind. src/model/faults.test.ts and `npm run torture -- api-faults` test the other faults.
  const kinds = new Map([...anyFaults, ...callFaults].map((fault) => [fault.kind, fault]));
  const faults = [...kinds.values()].map((fault) => [JSON.stringify(fault), fault] as const);
  it.concurrent.each(faults)(
    "end in success or one clear error if they occur twice, and the session can continue: %s",
    async (_, fault) => {
      let left = 2;
      const strike = (hasCall: boolean): Fault | undefined => (hasCall && left-- > 0 ? fault : undefined);
      // Only a hanging connection ends because of this limit, so the limit is short only for this fault.
      const idleMs = fault.kind === "hang" ? 200 : 60_000;
      // The fault may destroy the calls in the first two answers. The call in the third answer has an effect.
      const { violations, work } = await workUnderFaults({ random: () => 0, strike, steps: 3, idleMs });
      expect(violations).toEqual([]);
      expect(work["faults"]).toBe(2);
      expect(work["effects"]).toBeGreaterThan(0);
    },
  );

  it("affect parallel agents independently", async () => {
    const report = await apiFaultsFamily({ seed: 1, count: 2, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ passed: 2, run: 2, firstFailure: undefined });
    expect(report.work["faults"]).toBeGreaterThan(5);
    expect(report.work["effects"]).toBeGreaterThan(5);
  });

  it("can occur in any combination", async () => {
    const report = await apiFaults({ seed: 1, count: 3, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ passed: 3, run: 3, firstFailure: undefined });
    expect(report.work["faults"]).toBeGreaterThan(5);
    expect(report.work["effects"]).toBeGreaterThan(5);
  });
});

describe("the command line, with model API faults,", () => {
  const call = { tool: "Bash", input: { command: 'echo "$RETINUE_CALL_ID" >> ledger.txt' } };

  async function runWith(steps: readonly Step[]) {
    const place = createPlace();
    const server = await createApiServer({ script: steps });
    try {
      const args = ["-p", "Write it.", "--permission-mode", "bypassPermissions"];
      const ended = await startCommandLine({ place, url: server.url, args }).ended;
      const transcript = transcriptPath(place) ?? "";
      const { violations, work } = checkInvariants({ place, transcript, requests: server.requests });
      expect(violations).toEqual([]);
      return { ended, work, lines: readTranscript(transcript), requests: server.requests };
    } finally {
      await server.close();
      place.remove();
    }
  }

  it("waits out an overload, a cut and an error in the stream, and runs each call once", async () => {
    const faults: Fault[] = [
      { kind: "status", status: 529 },
      { kind: "close", afterBytes: 700 },
    ];
    const { ended, work } = await runWith([
      { reply: { content: ["Writing.", call] }, faults },
      { reply: { content: "Written." }, faults: [{ kind: "error-event" }] },
    ]);
    expect(ended).toMatchObject({ code: 0, stdout: "Written.\n" });
    expect(work).toMatchObject({ turns: 2, calls: 1, effects: 1 });
  });

  it("explains a fault that waiting can't resolve, with the exit code for configuration errors", async () => {
    const { ended } = await runWith([{ reply: { content: "", fault: { kind: "status", status: 401 } } }]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("ANTHROPIC_API_KEY");
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  });

  it("keeps the received part of a failed response, and tells the model that it was cut off", async () => {
    const cut: Fault = { kind: "error-event", afterEvents: 7, errorType: "invalid_request_error" };
    const place = createPlace();
    const server = await createApiServer({
      script: [{ content: ["Half of it", call], fault: cut }, { content: "Going on." }],
    });
    try {
      const flags = ["--permission-mode", "bypassPermissions"];
      const first = await startCommandLine({ place, url: server.url, args: ["-p", "Tell me.", ...flags] }).ended;
      expect(first).toMatchObject({ code: 1, stdout: "Half of it\n" });
      const again = await startCommandLine({ place, url: server.url, args: ["-p", "-c", ...flags] }).ended;
      expect(again).toMatchObject({ code: 0, stdout: "Going on.\n" });
      const messages = messagesOf(await server.waitForRequest(2));
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
      expect(messages[1]?.text).toBe("Half of it");
      expect(messages[2]?.text).toContain("ended early: model_error");
      const transcript = transcriptPath(place) ?? "";
      expect(checkInvariants({ place, transcript, requests: server.requests, ends: "done" }).violations).toEqual([]);
    } finally {
      await server.close();
      place.remove();
    }
  });
});
