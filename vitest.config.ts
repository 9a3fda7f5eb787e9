import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Test files to start first. If a slow file starts last, one worker is busy while the other is idle. Vitest orders
 * files by their last duration, and in a fresh clone by size, but these take longer than their size suggests.
 */
const long = [
  // These start git thousands of times, and each start copies the process. They run first, while the process is small.
  "src/workspace/worktrees/",
  "test/docs/examples.test.ts",
  "test/reliability/api-faults.test.ts",
  "test/docs/programs.test.ts",
  "test/house/build.test.ts",
  "test/reliability/damage.test.ts",
  "test/reliability/",
  "test/house/",
  "test/cli/",
];

/** Test file to start last: it loads the TypeScript compiler, which each later start of a process would have to copy. */
const large = "test/house/linear-expressions.test.ts";

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  if (moduleId.endsWith(`/${large}`)) return long.length + 1;
  const index = long.findIndex((part) => moduleId.includes(`/${part}`));
  return index === -1 ? long.length : index;
}

/**
 * With `RETINUE_TEST_WORKER=remote`, sessions reach their workers over a connection, as sessions on a server do. Their
 * tests pass either way.
 */
const remoteWorkers: Plugin = {
  name: "remote-workers",
  enforce: "pre",
  resolveId: (source, importer = "") => {
    if (!source.endsWith("/worker/index.ts") || !importer.endsWith("/src/app/session/open-session.ts"))
      return undefined;
    return fileURLToPath(new URL("src/link/worker-over-link.test-support.ts", import.meta.url));
  },
};

export default defineConfig({
  plugins: process.env["RETINUE_TEST_WORKER"] === "remote" ? [remoteWorkers] : [],
  test: {
    pool: "forks",
    // Many tests wait for processes, so that two cores can serve three workers.
    maxWorkers: 3,
    reporters: ["default"],
    // A single project, so that each source file is compiled only once, and loaded only once by each worker.
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    isolate: false,
    sequence: { sequencer: LongestFirst },
    globalSetup: ["scripts/vitest-build.mjs", "test/temporary-directory.ts"],
    setupFiles: ["test/property-seed.ts"],
    // Only guards against tests that never end, because a busy machine can be ten times slower than an idle one.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
  },
});
