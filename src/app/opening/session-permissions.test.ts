import { expect, it } from "vitest";
import type { Policy } from "../../protocol/index.ts";
import { askAboutGit } from "./session-permissions.ts";

const policy: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [], readableRoots: [] };
const file = "/work/.git/config";

it("asks about git if its configuration names programs or can't be checked", () => {
  const { policy: cautious, notices } = askAboutGit(policy, { file, checked: true });
  expect(cautious.layers?.[0]?.rules).toMatchObject([{ text: "Bash(git:*)", effect: "ask", file }]);
  expect(notices[0]).toContain(`${file} may name programs that git would run`);
  expect(askAboutGit(policy, { file, checked: false }).notices[0]).toContain(`${file} can't be checked`);
});

it("asks only about git commands that change something if only these run the programs", () => {
  const { policy: cautious, notices } = askAboutGit(policy, { file, checked: true, onlyChanges: true });
  expect(cautious.layers?.[0]).toMatchObject({ onlyChanges: true });
  expect(notices[0]).toContain("so git commands that change something need approval");
});

it("does not ask about git if there is no such configuration, or if the mode never asks", () => {
  expect(askAboutGit(policy, undefined)).toEqual({ policy, notices: [] });
  const bypass: Policy = { ...policy, mode: "bypassPermissions" };
  expect(askAboutGit(bypass, { file, checked: true })).toEqual({ policy: bypass, notices: [] });
});
