import { expect, it } from "vitest";
import { withoutManaged } from "./open-run-session.ts";

it("lets no option override managed settings", () => {
  const given = { model: "mine", maxTurns: 5, permissionMode: "acceptEdits" } as const;
  const { unmanaged, notices } = withoutManaged(given, [
    { path: "model", value: "theirs", scope: "managed", file: "/etc/retinue/settings.json" },
    { path: "permissions.defaultMode", value: "plan", scope: "managed", file: "/etc/retinue/settings.json" },
    { path: "maxTurns", value: 9, scope: "user", file: "settings.json" },
  ]);
  expect(unmanaged).toEqual({ maxTurns: 5 });
  expect(notices).toEqual([
    expect.stringMatching(/^--model .*\/etc\/retinue\/settings\.json/),
    expect.stringMatching(/^--permission-mode /),
  ]);
  expect(withoutManaged(given, [])).toEqual({ unmanaged: given, notices: [] });
});
