// scripts/check.mjs and tests start these by their paths in node_modules, which knip does not recognize.
const runByPath = ["@biomejs/biome", "dependency-cruiser", "typescript-native"];
// Tools resolve these at run time, from a worker thread or as a program, which knip does not recognize either.
const foundAtRunTime = ["@mozilla/readability", "@vscode/ripgrep", "linkedom", "turndown"];

// This object is not declared with knip's type, which takes the compiler seconds to load. knip validates the object
// when it runs.
const config = {
  entry: [
    "src/index.ts",
    // An entry point may have exports that nothing uses yet. Code that no entry point reaches is dead.
    "src/*/index.ts",
    "src/*/*/index.ts",
    "src/cli/{main,run-command,serve-command}.ts",
    "src/cli/help/print-text.ts",
    "src/web/main.tsx",
    "src/testing/api-server/serve.ts",
    "src/**/*.test-support.ts",
    "layers.cjs",
    "scripts/*.mjs",
    "bench/main.ts",
    "bench/{baseline-ink,stuck-clients}.mjs",
    "test/torture/main.ts",
    "test/web/take-pictures.ts",
    "test/**/*.test.ts",
  ],
  project: [
    "src/**/*.{ts,tsx}",
    "test/**/*.ts",
    "bench/**/*.ts",
    "bench/{baseline-ink,stuck-clients}.mjs",
    "scripts/**/*.mjs",
    "*.{ts,cjs}",
  ],
  ignoreDependencies: [...runByPath, ...foundAtRunTime],
  // Tests start system programs such as git and mkfifo, which no package provides.
  exclude: ["binaries"],
  ignoreExportsUsedInFile: { interface: true, type: true },
};

export default config;
