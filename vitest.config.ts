import { defineConfig } from "vitest/config";

// Guards against a test that never ends, and nothing else: a busy machine is ten times slower than a quiet one.
const limits = { testTimeout: 60_000, hookTimeout: 120_000, teardownTimeout: 10_000 };
// These run the built command line, so the build comes first; the tests of a room alone never wait for it.
const built = ["test/**/*.test.ts", "src/cli/**/*.test.ts"];

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    reporters: ["default"],
    projects: [
      { test: { name: "rooms", include: ["src/**/*.test.ts"], exclude: ["src/cli/**"], isolate: false, ...limits } },
      { test: { name: "built", include: built, globalSetup: ["scripts/vitest-build.mjs"], isolate: false, ...limits } },
    ],
  },
});
