import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { SkippedTests } from "./test/skipped-tests.ts";

/**
 * Test files to start first. The first five start thousands of processes, and each start copies the test process, which
 * grows with every file: late in the run, starting a process takes three times as long. Of the others, the slowest come
 * first: if a slow file starts last, one worker is busy while the others are idle. By default, Vitest orders files by
 * their last duration, and in a fresh clone by size.
 */
const first = [
  "src/workspace/worktrees/",
  "src/workspace/sandbox/",
  "src/workspace/",
  "src/offline/map/",
  "test/reliability/shell-fuzz.test.ts",
  "test/docs/",
  "test/server/",
  "test/terminal/",
  "test/cli/",
  "test/scenarios/steering-processes.test.ts",
  "test/house/",
  "test/reliability/",
  "test/web/",
  "test/examples/",
  "src/cli/",
];

/** Test files to start last, because they need a lot of memory, which every process started later would copy. */
const last = [
  "src/link/link.test.ts",
  "src/mcp/web-servers.test.ts",
  "src/tools/web-fetch/",
  "test/scenarios/attacks/server.test.ts",
  "test/house/linear-expressions.test.ts",
];

class ByCost extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const indexIn = (list: readonly string[]): number => list.findIndex((part) => moduleId.includes(`/${part}`));
  const [early, late] = [indexIn(first), indexIn(last)];
  if (late !== -1) return first.length + 1 + late;
  return early === -1 ? first.length : early;
}

/**
 * With `RETINUE_TEST_WORKER=remote`, sessions reach their workers over a connection, as sessions on a server do. All
 * tests must pass either way.
 */
const remoteWorkers: Plugin = {
  name: "remote-workers",
  enforce: "pre",
  resolveId: (source, importer = "") => {
    if (!source.endsWith("/worker/index.ts") || !importer.endsWith("/src/app/opening/open-session.ts"))
      return undefined;
    return fileURLToPath(new URL("src/link/worker-over-link.test-support.ts", import.meta.url));
  },
};

// Node reads the file with these certificates each time it starts, which can take longer than the rest of its startup.
// Tests do not connect to other machines, so they need no certificates.
delete process.env["NODE_EXTRA_CA_CERTS"];

const isRemote = process.env["RETINUE_TEST_WORKER"] === "remote";

export default defineConfig({
  plugins: isRemote ? [remoteWorkers] : [],
  test: {
    // Compiles only files that changed since the last run. Remote mode uses no cache, because compiled files contain
    // the paths of their imports, which `remoteWorkers` changes.
    experimental: { fsModuleCache: !isRemote, fsModuleCachePath: ".cache/vitest" },
    pool: "forks",
    // Many tests wait for processes, so two cores can serve four workers.
    maxWorkers: 4,
    reporters: ["default", new SkippedTests()],
    // All tests are in a single project, so that each source file is compiled only once, and loaded only once by each
    // worker.
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    isolate: false,
    sequence: { sequencer: ByCost },
    globalSetup: ["scripts/vitest-build.mjs", "test/temporary-directory.ts"],
    setupFiles: ["test/property-seed.ts"],
    // The limits are generous, because a busy machine can be ten times slower than an idle one. They only guard against
    // tests that hang.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
