import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadSnapshot } from "../sources/load-snapshot.ts";
import type { SnapshotPlugin } from "../sources/snapshot.ts";
import { findSkill, findSkills } from "./skills.ts";

let place = "";
let home = "";
let project = "";
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-skills-")));
  home = join(place, "home");
  project = join(place, "project");
  mkdirSync(home);
  mkdirSync(join(project, ".git"), { recursive: true });
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function skill(folder: string, description: string, name?: string): string {
  const file = join(folder, "SKILL.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `---\n${name ? `name: ${name}\n` : ""}description: ${description}\n---\nHow to: ${description}\n`,
  );
  return file;
}

const load = async (plugins: SnapshotPlugin[] = []) =>
  loadSnapshot({ cwd: project, home, stateHome: join(home, ".retinue"), trusted: true, plugins });

describe("skills", () => {
  it("must be files: a directory in place of one is reported", async () => {
    const wrong = join(project, ".agents/skills/deploy/SKILL.md");
    mkdirSync(wrong, { recursive: true });
    const { skills, diagnostics } = await load();
    expect(skills).toEqual([]);
    expect(diagnostics).toMatchObject([{ severity: "error", file: wrong, code: "not_a_file" }]);
  });

  it("come from all sources, and the source with the highest precedence comes first", async () => {
    skill(join(project, ".agents/skills/deploy"), "agents");
    const hidden = skill(join(project, ".claude/skills/deploy"), "claude");
    skill(join(project, ".claude/skills/group/review"), "review");
    skill(join(home, ".claude/skills/deploy"), "user");
    skill(join(home, ".agents/skills/mine"), "mine");
    const file = skill(join(place, "kit/skills/pack"), "pack");
    const plugin = { name: "kit", root: join(place, "kit"), agentFiles: [], skillFiles: [file], commandFiles: [] };
    const { skills, diagnostics } = await load([plugin]);
    expect(skills.map(({ definition }) => [definition.name, definition.source])).toEqual([
      ["deploy", "project"],
      ["kit:pack", "plugin"],
      ["mine", "user"],
      ["review", "project"],
    ]);
    expect(skills[0]?.body.trim()).toBe("How to: agents");
    expect(diagnostics.map(({ code }) => code)).toEqual(["skill_hidden", "skill_hidden"]);
    expect(diagnostics.map(({ file: at }) => at)).toContain(hidden);
  });

  it("are found with a leading slash and without the plugin's name, with a suggestion for a missing one", async () => {
    skill(join(project, ".claude/skills/deploy"), "d");
    const file = skill(join(place, "kit/skills/pack"), "pack");
    const { skills } = await load([
      { name: "kit", root: join(place, "kit"), agentFiles: [], skillFiles: [file], commandFiles: [] },
    ]);
    expect(findSkill(skills, "/deploy")?.definition.name).toBe("deploy");
    expect(findSkill(skills, "pack")?.definition.name).toBe("kit:pack");
    const { found, diagnostics } = findSkills(skills, ["deploy", "/deploy", "deplo"], { file: "/a.md" });
    expect(found).toHaveLength(1);
    expect(diagnostics).toMatchObject([{ code: "unknown_skill", file: "/a.md" }]);
    expect(diagnostics[0]?.message).toContain('Did you mean "deploy"?');
  });

  it("include a plugin's commands, named after their files", async () => {
    const root = join(place, "kit");
    const command = (path: string, text: string): string => {
      const file = join(root, "commands", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    };
    const commandFiles = [
      command("deploy.md", "---\ndescription: Deploys it.\nargument-hint: TARGET\n---\nDeploy to $ARGUMENTS.\n"),
      command("git/commit.md", "# Commit\n\nWrite a commit message.\n"),
      command("secret.md", "---\ndisable-model-invocation: true\n---\nFor people.\n"),
      command("empty.md", " \n"),
      command("broken.md", "---\ndescription: x\n"),
    ];
    const { skills, diagnostics } = await load([{ name: "kit", root, agentFiles: [], skillFiles: [], commandFiles }]);
    expect(
      skills.map(({ definition: { name, description, modelInvocable }, body }) => [
        name,
        description,
        modelInvocable,
        body.trim(),
      ]),
    ).toEqual([
      ["kit:deploy", "Deploys it.", true, "Deploy to $ARGUMENTS."],
      ["kit:git:commit", "Commit", true, "# Commit\n\nWrite a commit message."],
      ["kit:secret", "For people.", false, "For people."],
    ]);
    expect(diagnostics.map(({ file, code }) => [file.slice(root.length + 10), code])).toEqual([
      ["broken.md", "unclosed_frontmatter"],
      ["empty.md", "no_description"],
    ]);
  });

  it("are not searched for inside other skills", async () => {
    skill(join(project, ".claude/skills/outer"), "outer");
    skill(join(project, ".claude/skills/outer/examples/inner"), "inner");
    expect((await load()).skills.map(({ definition }) => definition.name)).toEqual(["outer"]);
  });
});
