// scripts/check.mjs and tests start these from node_modules, where knip does not look.
const runByPath = ["@biomejs/biome", "dependency-cruiser"];
// Tools find these at run time, from a thread or as a program, which knip can't see either.
const foundAtRunTime = ["@mozilla/readability", "@vscode/ripgrep", "linkedom", "turndown"];

// Not declared as knip's own type, which takes the compiler seconds to read: knip checks it when it runs.
const config = {
  entry: [
    "src/index.ts",
    // What an entry point exports need not be used yet; what no entry point reaches is dead.
    "src/*/index.ts",
    "src/*/*/index.ts",
    "src/cli/{main,run-command}.ts",
    "src/cli/help/print-text.ts",
    "src/testing/api-server/serve.ts",
    "src/**/*.test-support.ts",
    "layers.cjs",
    "scripts/*.mjs",
    "bench/main.ts",
    "test/torture/main.ts",
    "test/**/*.test.ts",
  ],
  project: ["src/**/*.ts", "test/**/*.ts", "bench/**/*.ts", "scripts/**/*.mjs", "*.{ts,cjs}"],
  ignoreDependencies: [...runByPath, ...foundAtRunTime],
  // Tests start programs of the system (git, mkfifo), which no package lists.
  exclude: ["binaries"],
  ignoreExportsUsedInFile: { interface: true, type: true },
};

export default config;
