import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Campaign } from "./campaign.ts";

/** Sessions that reach their worker over a connection must pass the same tests as sessions that call it directly. */
export const remote: Campaign = async ({ until }) => {
  const directory = mkdtempSync(join(tmpdir(), "retinue-remote-"));
  try {
    const outputFile = join(directory, "report.json");
    await runTests(["--reporter=json", `--outputFile=${outputFile}`], until);
    return reportOf(JSON.parse(readFileSync(outputFile, "utf8")));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

async function runTests(options: readonly string[], until: number): Promise<void> {
  const root = join(import.meta.dirname, "../..");
  const program = join(root, "node_modules/vitest/vitest.mjs");
  const child = spawn(process.execPath, [program, "run", "test/scenarios", "test/reliability", ...options], {
    cwd: root,
    env: { ...process.env, RETINUE_TEST_WORKER: "remote" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const late = setTimeout(() => child.kill("SIGTERM"), until - performance.now());
  await once(child, "exit");
  clearTimeout(late);
}

interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function reportOf({ numPassedTests: passed, numFailedTests, testResults }: TestReport) {
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed"),
  );
  const broken = testResults.filter(({ assertionResults }) => assertionResults.length === 0);
  const names = [
    ...failed.map(({ fullName, failureMessages: [why = ""] }) => `${fullName}: ${why.split("\n")[0]}`),
    ...broken.map(({ name, message }) => `${name}: ${message}`),
  ];
  return {
    passed,
    run: passed + numFailedTests + broken.length,
    firstFailure: names.length === 0 ? undefined : names.slice(0, 20).join("\n    "),
    work: { tests: passed + numFailedTests },
  };
}
