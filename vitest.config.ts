import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * A long file that begins last keeps one worker busy while the other has nothing to do. Vitest goes by how long each
 * took the last time, and in a fresh clone, which has no last time, by size: these take longer than their size says.
 */
const long = [
  // Before anything else has made the process large: these start git thousands of times, which copies it each time.
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

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = long.findIndex((part) => moduleId.includes(`/${part}`));
  return index === -1 ? long.length : index;
}

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    reporters: ["default"],
    // One project, so that each source file is compiled once, and loaded once by each worker.
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    isolate: false,
    sequence: { sequencer: LongestFirst },
    globalSetup: ["scripts/vitest-build.mjs", "test/temporary-directory.ts"],
    setupFiles: ["test/property-seed.ts"],
    // Guards against a test that never ends, and nothing else: a busy machine is ten times slower than a quiet one.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
  },
});
