// Who may import whom, and which npm package each room may touch. The table is the law of src/; the rules below only
// put it into dependency-cruiser's words. Change the table in the same commit as docs/decisions/ says why.
//
// rooms: doors it may import. lazy: doors it may import only by import(). packages: npm packages.
// builtins: may it use Node's own modules? A room without them is pure: data in, data out.

const shared = ["protocol", "ports", "lib"];
const underApp = [
  ...shared,
  "settings",
  "definitions",
  "permissions",
  "hooks",
  "conversation",
  "transcript",
  "model",
  "tools",
  "workspace",
  "hands",
  "mcp",
  "loop",
  "agents",
  "runs",
];

const rooms = {
  protocol: { rooms: [], packages: [], builtins: false, innerDoor: "schemas", innerPackages: ["zod"] },
  lib: { rooms: [], packages: ["picomatch"], builtins: true },
  ports: { rooms: ["protocol"], packages: [], builtins: false },
  settings: { rooms: ["protocol", "lib"], packages: [], builtins: true },
  definitions: { rooms: ["protocol", "lib"], packages: ["yaml", "chokidar"], builtins: true },
  permissions: { rooms: ["protocol", "lib"], packages: ["unbash"], builtins: false },
  hooks: { rooms: shared, packages: [], builtins: true },
  conversation: { rooms: shared, packages: [], builtins: true },
  transcript: { rooms: shared, packages: [], builtins: true },
  model: { rooms: [...shared, "conversation"], packages: ["eventsource-parser", "ai"], builtins: true },
  tools: {
    rooms: shared,
    packages: ["@vscode/ripgrep", "diff", "turndown", "@mozilla/readability", "linkedom"],
    builtins: true,
  },
  workspace: { rooms: shared, packages: [], builtins: true },
  hands: { rooms: [...shared, "permissions"], packages: [], builtins: true },
  mcp: { rooms: shared, packages: ["@modelcontextprotocol/client"], builtins: true },
  loop: { rooms: ["protocol", "lib"], packages: [], builtins: false },
  agents: { rooms: [...shared, "definitions", "permissions"], packages: [], builtins: true },
  runs: {
    rooms: [...shared, "agents", "definitions", "loop", "permissions", "hooks", "conversation"],
    packages: [],
    builtins: true,
  },
  app: { rooms: underApp, packages: [], builtins: true },
  server: { rooms: ["protocol", "lib", "app"], packages: ["hono", "@hono/node-server"], builtins: true },
  client: { rooms: ["protocol", "lib"], packages: ["eventsource-parser"], builtins: true },
  tui: { rooms: ["protocol", "lib", "client"], packages: ["ink", "react"], builtins: true },
  acp: { rooms: ["protocol", "lib", "app"], packages: ["@agentclientprotocol/sdk"], builtins: true },
  "mcp-server": { rooms: ["protocol", "lib", "app"], packages: ["@modelcontextprotocol/server"], builtins: true },
  telemetry: {
    rooms: ["protocol", "lib"],
    packages: ["@opentelemetry/api", "@opentelemetry/sdk-trace-base", "@opentelemetry/exporter-trace-otlp-http"],
    builtins: true,
  },
  engine: { rooms: [...shared, "app"], packages: ["@restatedev/restate-sdk"], builtins: true },
  cli: {
    rooms: ["protocol", "lib", "app", "client"],
    lazy: ["server", "tui", "acp", "mcp-server", "telemetry", "engine"],
    packages: [],
    builtins: true,
  },
  testing: { rooms: shared, packages: [], builtins: true },
};

// Tests may reach into any room; what only tests start or import ends in .test-support.ts and is not built.
const tests = String.raw`\.test(-support)?\.ts$`;
const npmTypes = ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-bundled", "npm-no-pkg", "npm-unknown"];
const typeTypes = ["type-only", "type-import"];

const inRoom = (name) => `^src/${name}/`;
const doorsOf = (name) => {
  const inner = rooms[name].innerDoor;
  return inner ? [`^src/${name}/index\\.ts$`, `^src/${name}/${inner}/index\\.ts$`] : [`^src/${name}/index\\.ts$`];
};
const packagePath = (name) => {
  const types = name.startsWith("@") ? name.slice(1).replace("/", "__") : name;
  return `(^|/)node_modules/(${name}|@types/${types})/`;
};
const list = (names) => (names.length > 0 ? names.join(", ") : "nothing");

function rulesOf([name, room]) {
  const lazy = room.lazy ?? [];
  const from = { path: inRoom(name), pathNot: [tests] };
  const innerFiles = room.innerDoor ? [`^src/${name}/${room.innerDoor}/`] : [];
  const rules = [
    {
      name: `${name}-rooms`,
      comment: `${name} may import only: ${list([...room.rooms, ...lazy])}. See layers.cjs.`,
      from,
      to: { path: "^src/", pathNot: [name, ...room.rooms, ...lazy].map(inRoom) },
    },
    {
      name: `${name}-packages`,
      comment: `${name} may use only these npm packages: ${list(room.packages)}. See layers.cjs.`,
      from: { path: from.path, pathNot: [tests, ...innerFiles] },
      to: { dependencyTypes: npmTypes, pathNot: room.packages.map(packagePath) },
    },
    {
      name: `${name}-door`,
      comment: `Other rooms import ${name} only by its door, src/${name}/index.ts.`,
      from: { path: "^src/", pathNot: [inRoom(name), tests] },
      to: { path: inRoom(name), pathNot: doorsOf(name) },
    },
  ];
  if (!room.builtins) {
    rules.push({
      name: `${name}-builtins`,
      comment: `${name} is pure: it uses none of Node's own modules. Move the side effect to the caller.`,
      from,
      to: { dependencyTypes: ["core"] },
    });
  }
  if (lazy.length > 0) {
    rules.push({
      name: `${name}-lazy`,
      comment: `${name} loads ${list(lazy)} only by import(), so that starting up does not pay for them.`,
      from,
      to: { path: lazy.map(inRoom), dynamic: false, dependencyTypesNot: typeTypes },
    });
  }
  if (room.innerDoor) {
    rules.push(
      {
        name: `${name}-${room.innerDoor}-packages`,
        comment: `${name}/${room.innerDoor} may use only these npm packages: ${list(room.innerPackages)}.`,
        from: { path: innerFiles, pathNot: [tests] },
        to: { dependencyTypes: npmTypes, pathNot: room.innerPackages.map(packagePath) },
      },
      {
        name: `${name}-${room.innerDoor}-apart`,
        comment: `The rest of ${name} does not import its ${room.innerDoor}: they are loaded only at edges.`,
        from: { path: from.path, pathNot: [tests, ...innerFiles] },
        to: { path: innerFiles },
      },
    );
  }
  return rules;
}

const houseRules = [
  {
    name: "no-circular",
    comment: "Two files that need each other are one concept, or hide a third.",
    from: { path: "^src/" },
    to: { circular: true },
  },
  {
    name: "no-unresolved",
    comment: "This import leads nowhere: a missing file, or a package that is not installed.",
    from: { path: "^src/" },
    to: { couldNotResolve: true },
  },
  {
    name: "known-room",
    comment: "Every folder of src/ is a room of the table in layers.cjs; add it there (and to DESIGN.md) first.",
    from: { path: "^src/[^/]+/", pathNot: Object.keys(rooms).map(inRoom) },
    to: {},
  },
  {
    name: "library-entry",
    comment: "src/index.ts is the library's entry: it re-exports from src/app/index.ts and nothing else.",
    from: { path: "^src/[^/]+$", pathNot: [tests] },
    to: { pathNot: doorsOf("app") },
  },
  {
    name: "testing-stays-out",
    comment: "No product room imports the testing room. Tests, test/ and bench/ may.",
    from: { path: "^src/", pathNot: [inRoom("testing"), tests] },
    to: { path: inRoom("testing") },
  },
  {
    name: "no-test-code",
    comment: "Product code does not import test code.",
    from: { path: "^src/", pathNot: [tests] },
    to: { path: [tests, "^test/", "^bench/"] },
  },
];

const configuration = {
  forbidden: [...Object.entries(rooms).flatMap(rulesOf), ...houseRules].map((rule) => ({ severity: "error", ...rule })),
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    // Type imports are walls too: a type that crosses rooms is a dependency.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};

module.exports = { rooms, configuration };
