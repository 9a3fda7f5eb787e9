import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemOf, toolNamesOf } from "../../src/testing/index.ts";
import { createPlace, resultOf, retinue, serve } from "./command-line.ts";

const json = ["--output-format", "json"];

it("a built-in agent works as the main agent with its own tools and model, even if everything is permitted", async () => {
  const place = createPlace();
  const server = await serve([
    { content: [{ tool: "Write", input: { file_path: "a.txt", content: "a" } }] },
    { content: "I only look." },
  ]);
  const words = ["-p", "--agent", "Explore", "--permission-mode", "bypassPermissions", ...json, "quick: what is here?"];
  const ended = await retinue(words, { ...place, server });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(resultOf(ended)).toMatchObject({ subtype: "success", facts: { filesChanged: [] } });
  expect(existsSync(join(place.cwd, "a.txt"))).toBe(false);
  const [request] = server.requests;
  expect(request?.body).toMatchObject({ model: expect.stringContaining("haiku") });
  expect(toolNamesOf(request!)).not.toContain("Bash");
  expect(systemOf(request!)).toContain("You search a codebase");
});

it("a model flag takes precedence over the agent's model", async () => {
  const server = await serve([{ content: "Hello." }]);
  await retinue(["-p", "--agent", "Explore", "--model", "large", "Hello?"], { ...createPlace(), server });
  expect(server.requests[0]?.body).toMatchObject({ model: expect.stringContaining("opus") });
});

it("a project's agent works if the directory is trusted; otherwise, the error explains why it does not", async () => {
  const place = createPlace();
  mkdirSync(join(place.cwd, ".claude/agents"), { recursive: true });
  const file = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Grep\n---\nYou review changes.\n";
  writeFileSync(join(place.cwd, ".claude/agents/reviewer.md"), file);
  const server = await serve([{ content: "Reviewed." }]);
  const untrusted = await retinue(["-p", "--agent", "reviewer", "Review."], { ...place, server });
  expect(untrusted.code).toBe(2);
  expect(untrusted.stderr).toContain('no agent "reviewer"');
  expect(untrusted.stderr).toContain("not trusted");
  const trusted = await retinue(["-p", "--trust", "--agent", "reviewer", "Review."], { ...place, server });
  expect(trusted).toMatchObject({ code: 0, stdout: "Reviewed.\n" });
  expect(toolNamesOf(server.requests[0]!)).toEqual(["Read", "Grep"]);
  expect(systemOf(server.requests[0]!)).toContain("You review changes.");
});

it("an agent defined on the command line works", async () => {
  const server = await serve([{ content: "A rhyme." }]);
  const agents = JSON.stringify({ poet: { description: "Writes verse.", prompt: "You rhyme.", tools: "Read" } });
  const ended = await retinue(["-p", "--agents", agents, "--agent", "poet", "Rhyme."], { ...createPlace(), server });
  expect(ended).toMatchObject({ code: 0, stdout: "A rhyme.\n", stderr: "" });
  expect(systemOf(server.requests[0]!)).toContain("You rhyme.");
});

it("unknown fields of an agent defined on the command line are reported once", async () => {
  const poet = { description: "Writes verse.", prompt: "You rhyme.", tools: "Read", meter: "iamb" };
  const agents = JSON.stringify({ poet, other: { description: "Sings.", prompt: "You sing.", modle: "small" } });
  for (const who of [["--agent", "poet"], []]) {
    const server = await serve([{ content: "A rhyme." }]);
    const ended = await retinue(["-p", "--agents", agents, ...who, "Rhyme."], { ...createPlace(), server });
    expect(ended).toMatchObject({ code: 0, stdout: "A rhyme.\n" });
    expect(ended.stderr.match(/--agents: Agent "poet": .*"meter"/g)).toHaveLength(1);
    expect(ended.stderr.match(/--agents: Agent "other": .*"modle"/g)).toHaveLength(1);
  }
});

it("an agent with an initial prompt needs no other prompt; without any prompt, no session is created", async () => {
  const place = createPlace();
  const server = await serve([{ content: "A rhyme." }]);
  const poet = { description: "Writes verse.", prompt: "You rhyme.", initialPrompt: "Write a verse." };
  const words = ["-p", "--agents", JSON.stringify({ poet, mute: { ...poet, initialPrompt: " " } }), "--agent"];
  const mute = await retinue([...words, "mute"], { ...place, server });
  expect(mute).toMatchObject({ code: 2, stdout: "" });
  expect(mute.stderr).toMatch(/no prompt, and agent "mute" has no initialPrompt. Pass one, as in: retinue -p "/);
  expect((await retinue(["sessions", "list", "--json"], place)).stdout).toBe("[]\n");
  const begun = await retinue([...words, "poet"], { ...place, server });
  expect(begun).toMatchObject({ code: 0, stdout: "A rhyme.\n", stderr: "" });
  expect(JSON.stringify(server.requests[0]?.body)).toContain("Write a verse.");
  const again = await retinue([...words, "poet", "--continue"], { ...place, server });
  expect(again.code).toBe(2);
  expect(again.stderr).toContain("has nothing left to do");
  expect(server.requests).toHaveLength(1);
});

describe("the agent setting", () => {
  const poet = { description: "Writes verse.", prompt: "You rhyme.", initialPrompt: "Write a verse." };
  /** Creates a place with user settings. */
  const placeWith = (settings: object) => {
    const place = createPlace();
    mkdirSync(place.home, { recursive: true });
    const write = (given: object) => writeFileSync(join(place.home, "settings.json"), JSON.stringify(given, null, 2));
    write(settings);
    return { ...place, write };
  };

  it("chooses the main agent of new sessions; --agent takes precedence, and resumed sessions keep their agent", async () => {
    const { write, ...place } = placeWith({ agent: "poet", agents: { poet } });
    const server = await serve(() => ({ content: "A rhyme." }));
    const run = async (...words: string[]): Promise<string> => {
      const ended = await retinue(["-p", ...words], { ...place, server });
      expect(ended).toMatchObject({ code: 0, stdout: "A rhyme.\n", stderr: "" });
      return systemOf(server.requests.at(-1)!).includes("You rhyme.") ? "poet" : "main";
    };
    expect(await run()).toBe("poet");
    expect(JSON.stringify(server.requests[0]?.body)).toContain("Write a verse.");
    expect(await run("--agent", "main", "Hello")).toBe("main");
    expect(await run("--continue", "More")).toBe("main");
    expect(await run("Hello")).toBe("poet");
    write({ agents: { poet } });
    expect(await run("--continue", "More")).toBe("poet");
    expect(await run("Hello")).toBe("main");
  });

  it("is reported with its place if the agent does not exist, because another agent may have more tools", async () => {
    const { write, ...place } = placeWith({ agent: "Exlpore" });
    const ended = await retinue(["-p", "Hello"], place);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain(`There is no agent "Exlpore", which ${join(place.home, "settings.json")}:2 chooses`);
    expect(ended.stderr).toMatch(/Did you mean "Explore"\?.* pass --agent NAME\. `main` is the main agent\./);
    write({ agent: 5 });
    expect((await retinue(["-p", "Hello"], place)).stderr).toContain("settings.json:2: agent must be a string");
  });

  it("of a project applies if the directory is trusted, but can't choose an agent that bypasses permissions", async () => {
    const { write, ...place } = placeWith({ agents: { free: { ...poet, permissionMode: "bypassPermissions" } } });
    mkdirSync(join(place.cwd, ".retinue"));
    const choose = (agent: string) =>
      writeFileSync(join(place.cwd, ".retinue/settings.json"), JSON.stringify({ agent }));
    choose("Explore");
    const server = await serve(() => ({ content: "Done." }));
    const untrusted = await retinue(["-p", "Hello"], { ...place, server });
    expect(untrusted.stderr).toContain("agent");
    expect(toolNamesOf(server.requests.at(-1)!)).toContain("Bash");
    await retinue(["-p", "--trust", "Hello"], { ...place, server });
    expect(toolNamesOf(server.requests.at(-1)!)).not.toContain("Bash");
    expect(await retinue(["trust", "add"], place)).toMatchObject({ code: 0, stdout: expect.stringContaining("agent") });
    await retinue(["-p", "Hello"], { ...place, server });
    expect(toolNamesOf(server.requests.at(-1)!)).not.toContain("Bash");
    choose("free");
    const changed = await retinue(["-p", "Hello"], { ...place, server });
    expect(changed.stderr).toContain("ignoring agent, which changed since you trusted this project");
    expect(toolNamesOf(server.requests.at(-1)!)).toContain("Bash");
    const refused = await retinue(["-p", "--trust", "Hello"], { ...place, server });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /\.retinue\/settings\.json:1 can't choose the agent "free", .*bypassPermissions.* --agent free/,
    );
    expect(await retinue(["-p", "--trust", "--agent", "free", "Hello"], { ...place, server })).toMatchObject({
      code: 0,
    });
  });
});

it("an agent whose file can't be read is reported with the reason", async () => {
  const place = createPlace();
  mkdirSync(join(place.cwd, ".claude/agents"), { recursive: true });
  writeFileSync(join(place.cwd, ".claude/agents/file.md"), "---\nname: reviewer\ndescription: d\ntools: 5\n---\n");
  const byFile = await retinue(["-p", "--trust", "--agent", "file", "Hello?"], place);
  expect(byFile.stderr).toMatch(/no agent "file".*file\.md:4: "tools" can't be read/);
  const byName = await retinue(["-p", "--trust", "--agent", "reviewer", "Hello?"], place);
  expect(byName.stderr).toMatch(
    /no agent "reviewer".*1 agent does not load: \S+file\.md\. Run "retinue agents check" to see why/,
  );
});

it("an unknown agent is reported with a list of available agents", async () => {
  const ended = await retinue(["-p", "--agent", "explorer", "Hello?"], createPlace());
  expect(ended.code).toBe(2);
  expect(ended.stderr).toMatch(/no agent "explorer"\. Did you mean "Explore"\? Available agents: /);
  expect(ended.stderr).not.toContain("trust");
  const misspelled = await retinue(["-p", "--agent", "Exlpore", "Hello?"], createPlace());
  expect(misspelled.stderr).toContain('There is no agent "Exlpore". Did you mean "Explore"?');
});
