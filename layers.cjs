// Defines which modules and npm packages each module may import. docs/architecture.md describes the modules.
// The code below translates this table into dependency-cruiser rules. Changing the table requires a decision record.
//
// modules: modules whose entry point the module may import. packages: npm packages that it may import.
// builtins: whether it may use Node's built-in modules. A module without them is pure: it only computes data from data.
// browser: whether it also runs in browsers. Such a module may import only the portable part of lib.

const shared = ["protocol", "ports", "lib"];
const underApp = [
  ...shared,
  "worker",
  "settings",
  "definitions",
  "permissions",
  "hooks",
  "conversation",
  "transcript",
  "model",
  "offline",
  "tools",
  "workspace",
  "executor",
  "mcp",
  "loop",
  "agents",
  "runs",
  "reports",
];

const modules = {
  protocol: { modules: [], packages: [], builtins: false },
  lib: { modules: [], packages: [], builtins: true },
  ports: { modules: ["protocol"], packages: [], builtins: false },
  settings: { modules: ["protocol", "lib"], packages: [], builtins: true },
  definitions: { modules: ["protocol", "lib"], packages: ["yaml"], builtins: true },
  permissions: { modules: ["protocol", "lib"], packages: ["unbash"], builtins: false },
  hooks: { modules: shared, packages: [], builtins: true },
  conversation: { modules: shared, packages: [], builtins: true },
  transcript: { modules: shared, packages: [], builtins: true },
  model: { modules: [...shared, "conversation"], packages: ["eventsource-parser"], builtins: true },
  offline: { modules: shared, packages: [], builtins: true },
  tools: {
    modules: shared,
    packages: ["@vscode/ripgrep", "diff", "turndown", "@mozilla/readability", "linkedom"],
    builtins: true,
  },
  workspace: { modules: shared, packages: [], builtins: true },
  executor: { modules: [...shared, "permissions"], packages: [], builtins: true },
  mcp: { modules: shared, packages: ["@modelcontextprotocol/client"], builtins: true },
  worker: {
    modules: [...shared, "settings", "definitions", "tools", "workspace", "executor", "mcp"],
    packages: [],
    builtins: true,
  },
  loop: { modules: ["protocol", "lib"], packages: [], builtins: false },
  agents: { modules: [...shared, "permissions"], packages: [], builtins: true },
  runs: {
    modules: [...shared, "agents", "definitions", "loop", "permissions", "conversation"],
    packages: [],
    builtins: true,
  },
  reports: { modules: [...shared, "conversation", "loop", "runs", "transcript"], packages: [], builtins: true },
  link: { modules: shared, packages: ["ws"], builtins: true },
  app: { modules: underApp, packages: ["@cfworker/json-schema"], builtins: true },
  "ai-sdk": { modules: ["protocol", "ports"], packages: [], builtins: false },
  client: { modules: ["protocol", "lib"], packages: ["eventsource-parser"], builtins: false, browser: true },
  terminal: {
    modules: ["protocol", "lib", "client"],
    packages: ["marked", "highlight.js", "string-width"],
    builtins: true,
  },
  web: {
    modules: ["protocol", "lib", "client"],
    packages: ["react", "react-dom", "@tanstack/react-virtual", "marked", "lowlight"],
    builtins: false,
    browser: true,
  },
  schedules: { modules: shared, packages: ["croner"], builtins: true },
  server: {
    modules: [...shared, "app", "client", "schedules"],
    packages: ["hono", "@hono/node-server", "zod"],
    builtins: true,
  },
  cli: {
    modules: ["protocol", "lib", "app", "client", "terminal", "link", "schedules", "server"],
    packages: [],
    builtins: true,
  },
  testing: { modules: shared, packages: [], builtins: true },
};

// Tests may import anything. Files that only tests use end in .test-support.ts and are not built.
const tests = String.raw`\.test(-support)?\.tsx?$`;
const npmTypes = ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-bundled", "npm-no-pkg", "npm-unknown"];

const inModule = (name) => `^src/${name}/`;
const entryPointOf = (name) => `^src/${name}/${name === "lib" ? "(index|portable)" : "index"}\\.ts$`;
const packagePath = (name) => {
  const types = name.startsWith("@") ? name.slice(1).replace("/", "__") : name;
  return `(^|/)node_modules/(${name}|@types/${types})/`;
};
const list = (names) => (names.length > 0 ? names.join(", ") : "nothing");

function rulesOf([name, { modules: imports, packages, builtins, browser }]) {
  const from = { path: inModule(name), pathNot: [tests] };
  const rules = [
    {
      name: `${name}-modules`,
      comment: `${name} may import only: ${list(imports)}. See layers.cjs.`,
      from,
      to: { path: "^src/", pathNot: [name, ...imports].map(inModule) },
    },
    {
      name: `${name}-packages`,
      comment: `${name} may use only these npm packages: ${list(packages)}. See layers.cjs.`,
      from,
      to: { dependencyTypes: npmTypes, pathNot: packages.map(packagePath) },
    },
    {
      name: `${name}-entry-point`,
      comment: `Other modules may import ${name} only through its entry point, src/${name}/index.ts.`,
      from: { path: "^src/", pathNot: [inModule(name), tests] },
      to: { path: inModule(name), pathNot: [entryPointOf(name)] },
    },
  ];
  if (!builtins) {
    rules.push({
      name: `${name}-builtins`,
      comment: `${name} is pure: it may not use Node's built-in modules. Move the side effect to the caller.`,
      from,
      to: { dependencyTypes: ["core"] },
    });
  }
  if (browser) {
    rules.push({
      name: `${name}-portable`,
      comment: `${name} also runs in browsers, so the only part of lib that it may import is src/lib/portable.ts.`,
      from,
      to: { path: inModule("lib"), pathNot: ["^src/lib/portable\\.ts$"] },
    });
  }
  return rules;
}

const projectRules = [
  {
    name: "no-circular",
    comment: "Circular import. Merge the files, or move what they share to a third one.",
    from: { path: "^src/" },
    to: { circular: true },
  },
  {
    name: "no-unresolved",
    comment: "This import can't be resolved: the file is missing, or the package is not installed.",
    from: { path: "^src/" },
    to: { couldNotResolve: true },
  },
  {
    name: "known-module",
    comment: "Every folder in src/ must be listed as a module in layers.cjs. Add it there first.",
    from: { path: "^src/[^/]+/", pathNot: Object.keys(modules).map(inModule) },
    to: {},
  },
  {
    name: "library-entry",
    comment: "src/index.ts is the library's entry point and may only re-export from src/app/index.ts.",
    from: { path: "^src/[^/]+$", pathNot: [tests] },
    to: { pathNot: [entryPointOf("app")] },
  },
  {
    name: "testing-stays-out",
    comment: "Product modules may not import the testing module. Tests, test/ and bench/ may.",
    from: { path: "^src/", pathNot: [inModule("testing"), tests] },
    to: { path: inModule("testing") },
  },
  {
    name: "no-test-code",
    comment: "Product code may not import test code.",
    from: { path: "^src/", pathNot: [tests] },
    to: { path: [tests, "^test/", "^bench/"] },
  },
];

const configuration = {
  forbidden: [...Object.entries(modules).flatMap(rulesOf), ...projectRules].map((rule) => ({
    severity: "error",
    ...rule,
  })),
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    // Also checks imports of types, which are dependencies too.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};

module.exports = { modules, configuration };
