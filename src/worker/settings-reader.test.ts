import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { readProjectSettings } from "./project-settings.ts";
import { createSettingsReader } from "./settings-reader.ts";

function createPlace() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "retinue-settings-reader-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [home, cwd] = [join(top, "user/.retinue"), join(top, "project/part")];
  for (const path of [home, cwd, join(top, "project/.git")]) mkdirSync(path, { recursive: true });
  return { top, common: { home, cwd, environment: { HOME: join(top, "user") }, managedDirectory: join(top, "etc") } };
}

const names = ["user/.retinue/settings.json", "user/.retinue/permissions.jsonc", "user/.claude/settings.json"];
const inProject = [".claude/settings.json", ".retinue/settings.local.json", ".retinue/permissions.jsonc", ".mcp.json"];
const files = [...names, ...["project/", "project/part/"].flatMap((level) => inProject.map((name) => level + name))];
const contents = [
  '{"permissions":{"deny":["Read(a)"]}}',
  '{"permissions":{"deny":["Read(b)"]}}',
  '{"read":{"a":"deny"}}',
  '{"mcpServers":{"x":{"command":"y"}}}',
  "{",
];
const change = fc.record({
  file: fc.constantFrom(...files),
  content: fc.option(fc.constantFrom(...contents), { nil: undefined }),
  isOld: fc.boolean(),
});

it("always returns what the files contain now, even if they change several times in a moment", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), fc.boolean(), (changes, trust) => {
      const { top, common } = createPlace();
      const read = createSettingsReader(common);
      for (const { file, content, isOld } of changes) {
        const path = join(top, file);
        mkdirSync(dirname(path), { recursive: true });
        if (content === undefined) rmSync(path, { force: true });
        else writeFileSync(path, content);
        if (isOld && content !== undefined) utimesSync(path, 1, 1);
        for (const _ of [1, 2]) expect(read({ trust })).toEqual(readProjectSettings({ ...common, trust }));
      }
    }),
    { numRuns: 20 },
  );
});

it("notices that a file to which a link points is created", async () => {
  const { top, common } = createPlace();
  symlinkSync(join(top, "elsewhere.json"), join(common.home, "settings.json"));
  const read = createSettingsReader(common);
  const isKept = (): boolean => {
    const settings = read({ trust: true });
    return settings === read({ trust: true });
  };
  await expect.poll(isKept).toBe(true);
  writeFileSync(join(top, "elsewhere.json"), contents[0] ?? "");
  expect(read({ trust: true })).toEqual(readProjectSettings({ ...common, trust: true }));
});

it("reads files again only if they have changed", async () => {
  const { common } = createPlace();
  writeFileSync(join(common.home, "settings.json"), contents[0] ?? "");
  const read = createSettingsReader(common);
  // A file that has just changed could change again without a visible difference.
  const isKept = (): boolean => {
    const settings = read({ trust: true });
    return settings === read({ trust: true });
  };
  await expect.poll(isKept).toBe(true);
  const before = read({ trust: true });
  writeFileSync(join(common.home, "settings.json"), contents[1] ?? "");
  expect(read({ trust: true })).not.toBe(before);
  expect(read({ trust: true }).rules).toMatchObject([{ text: "Read(b)" }]);
});
