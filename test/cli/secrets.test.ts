import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, type Ended, type Place, retinue, retinueProcess, serve } from "./command-line.ts";

/** A secret for every place in the settings and the environment that can contain one. */
const secrets = {
  env: "canary-env-5f1d",
  key: "canary-key-8b2e",
  header: "canary-header-77a0",
  baseUrl: "canary-base-url-19c4",
  proxy: "canary-proxy-3d3d",
  mcpEnv: "canary-mcp-env-60fe",
  mcpArgument: "canary-mcp-argument-b1b2",
  mcpHeader: "canary-mcp-header-c3c4",
  mcpUrl: "canary-mcp-url-d5d6",
  mcpVariable: "canary-mcp-variable-e7e8",
  search: "canary-search-f9fa",
  searchUrl: "canary-search-url-2a2b",
  mcpLogin: "canary-mcp-login-0c0d",
  mcpOutput: "canary-mcp-output-1e1f",
  hook: "canary-hook-4a4b",
  server: "canary-server-5c5d",
  repository: "canary-repository-6e6f",
};

function setUp(url: string): { place: Place; environment: Record<string, string> } {
  const place = createPlace();
  mkdirSync(place.home);
  const { host } = new URL(url);
  const settings = {
    provider: "mine",
    model: "mine-1",
    env: { DATABASE_PASSWORD: secrets.env },
    providers: {
      mine: {
        dialect: "anthropic",
        baseUrl: `http://me:${secrets.baseUrl}@${host}`,
        apiKeyEnv: "MINE_KEY",
        headers: { "x-own": secrets.header },
      },
    },
    search: { engine: "brave", apiKeyEnv: "SEARCH_KEY", baseUrl: `ftp://me:${secrets.searchUrl}@127.0.0.1:1` },
    hooks: {
      SessionStart: [{ hooks: [{ type: "command", command: `false https://me:${secrets.hook}@hooks.test/` }] }],
    },
    mcpServers: {
      // The test uses a server that can't be started, because Retinue prints messages only about servers that fail to
      // start.
      program: {
        command: "no-such-program",
        args: ["--token", secrets.mcpArgument, `--api-key=${secrets.mcpArgument}`],
        env: { TOKEN: secrets.mcpEnv },
      },
      web: {
        type: "http",
        url: `http://127.0.0.1:1/?token=${secrets.mcpUrl}`,
        headers: { authorization: secrets.mcpHeader, "x-more": `\${MCP_TOKEN}` },
      },
      proxied: { type: "http", url: "http://tools.test/" },
      login: { type: "http", url: `http://me:${secrets.mcpLogin}@127.0.0.1:1/mcp` },
      talkative: {
        command: "sh",
        args: ["-c", 'echo "No database at postgres://me:$PASSWORD@127.0.0.1/" >&2; exit 1'],
        env: { PASSWORD: secrets.mcpOutput },
      },
    },
  };
  writeFileSync(join(place.home, "settings.json"), JSON.stringify(settings));
  const environment = {
    MINE_KEY: secrets.key,
    SEARCH_KEY: secrets.search,
    MCP_TOKEN: secrets.mcpVariable,
    HTTP_PROXY: `http://me:${secrets.proxy}@127.0.0.1:1`,
  };
  return { place, environment };
}

/** Returns the secrets that the programs printed or wrote to files, each with the place where it was found. */
function leaks({ home }: Place, outputs: Readonly<Record<string, Ended>>): string[] {
  const texts = new Map<string, string>();
  for (const [name, { stdout, stderr }] of Object.entries(outputs)) texts.set(name, stdout + stderr);
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name !== "settings.json") texts.set(path, readFileSync(path, "latin1"));
  }
  return [...texts].flatMap(([where, text]) =>
    Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [`${name} in ${where}`] : [])),
  );
}

describe("secrets in the settings and the environment", () => {
  it("never appear in anything that a run prints or writes", { timeout: 120_000 }, async () => {
    const calls = [
      { name: "WebSearch", input: { query: "anything at all" } },
      { name: "WebFetch", input: { url: "http://pages.test/" } },
      { name: "Task", input: { description: "Look", prompt: "Look around", subagent_type: "Explore" } },
      { name: "Bash", input: { command: "cat nothing; echo $MINE_KEY $SEARCH_KEY $HTTP_PROXY" } },
    ];
    const server = await serve([
      ...calls.map((call) => ({ content: [{ tool: call.name, input: call.input }] })),
      { content: "Done.", times: "always" as const },
    ]);
    const { place, environment } = setUp(server.url);
    const verbose = { ...place, environment: { ...environment, RETINUE_DEBUG: "1" } };
    const words = ["-p", "Do it", "--verbose", "--allowed-tools", "WebSearch,WebFetch,Bash"];
    const run = await retinueProcess([...words, "--output-format", "stream-json"], verbose);
    expect(server.requests.length).toBeGreaterThan(4);
    expect(run.stdout).toContain("Done.");
    const outputs = {
      run,
      text: await retinueProcess(["-p", "Again", "--continue", "--verbose"], verbose),
      doctor: await retinue(["doctor"], verbose),
      config: await retinue(["config", "show"], verbose),
      agents: await retinue(["agents", "list"], verbose),
      permissions: await retinue(["permissions", "list"], verbose),
      sessions: await retinue(["sessions", "list"], verbose),
    };
    expect(leaks(place, outputs)).toEqual([]);
  });

  it("never appear in an error, even if the server repeats them", { timeout: 60_000 }, async () => {
    const message = `Wrong key ${secrets.key}, header ${secrets.header}, login ${secrets.baseUrl}`;
    const server = await serve([{ content: "x", fault: { kind: "status", status: 401, message }, times: "always" }]);
    const { place, environment } = setUp(server.url);
    const all = { ...place, environment: { ...environment, RETINUE_DEBUG: "1" } };
    const run = await retinueProcess(["-p", "Do it", "--output-format", "json", "--verbose"], all);
    expect(run.code).not.toBe(0);
    const remote = { ...all, environment: { ...all.environment, ANTHROPIC_API_KEY: secrets.key } };
    const proxied = await retinueProcess(["-p", "Do it", "--provider", "anthropic", "--output-format", "json"], {
      ...remote,
      environment: { ...remote.environment, HTTPS_PROXY: `socks5://me:${secrets.proxy}@proxy.test:1` },
    });
    expect(proxied.stdout + proxied.stderr).toContain("HTTPS_PROXY names a socks5 proxy");
    const doctorAt = (file: string, baseUrl: string) => {
      const settings = { provider: "mine", model: "m", providers: { mine: { dialect: "anthropic", baseUrl } } };
      writeFileSync(join(place.cwd, file), JSON.stringify(settings));
      return retinueProcess(["doctor", "--json", "--settings", join(place.cwd, file)], all);
    };
    const outputs = {
      run,
      proxied,
      unreachable: await doctorAt(
        "unreachable.json",
        `http://me:${secrets.baseUrl}@127.0.0.1:1/?key=${secrets.baseUrl}`,
      ),
      invalid: await doctorAt("invalid.json", `http://me:${secrets.baseUrl}@`),
    };
    expect(outputs.unreachable.stdout).toContain("Check the network, the key and http://…@127.0.0.1:1/?key=…");
    expect(outputs.invalid.stdout).toContain("is not a URL");
    expect(leaks(place, outputs)).toEqual([]);
  });

  it("never appear in messages about servers and repositories whose addresses contain them", async () => {
    const server = await serve([]);
    const { place } = setUp(server.url);
    const all = { ...place, environment: { RETINUE_DEBUG: "1", RETINUE_TOKEN: "x".repeat(40) } };
    const { host } = new URL(server.url);
    const login = `me:${secrets.server}`;
    const words: Record<string, readonly string[]> = {
      silent: [
        "sessions",
        "list",
        "--server",
        `http://${login}@127.0.0.1:1/?ticket=${secrets.server}#${secrets.server}`,
      ],
      notRetinue: ["sessions", "list", "--server", `http://${login}@${host}/?ticket=${secrets.server}`],
      noUrl: ["sessions", "list", "--server", `${login}@${host}`],
      worker: ["worker", "--server", `http://${login}@${host}/?ticket=${secrets.server}`],
      unencrypted: ["worker", "--server", `http://${login}@worker.test/`],
      noWorkerUrl: ["worker", "--server", `${login}@worker.test`],
      protocol: ["plugins", "add", `http://me:${secrets.repository}@${host}/x.git`],
      clone: ["plugins", "add", `https://me:${secrets.repository}@127.0.0.1:1/x.git`],
    };
    const outputs: Record<string, Ended> = {};
    for (const [name, each] of Object.entries(words)) {
      outputs[name] = await retinueProcess(each, all);
      expect(outputs[name], name).toMatchObject({ stderr: expect.stringMatching(/^retinue: /) });
    }
    expect(leaks(place, outputs)).toEqual([]);
  });
});
