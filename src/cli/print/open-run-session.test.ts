import { expect, it } from "vitest";
import { heedManaged } from "./heed-managed.ts";

it("lets no option change what the machine's settings say", () => {
  const given = { model: "mine", maxTurns: 5, permissionMode: "acceptEdits" } as const;
  const { flags, notices } = heedManaged(given, [
    { path: "model", value: "theirs", scope: "managed", file: "/etc/retinue/settings.json" },
    { path: "permissions.defaultMode", value: "plan", scope: "managed", file: "/etc/retinue/settings.json" },
    { path: "maxTurns", value: 9, scope: "user", file: "settings.json" },
  ]);
  expect(flags).toEqual({ maxTurns: 5 });
  expect(notices).toEqual([
    expect.stringMatching(/^--model .*\/etc\/retinue\/settings\.json/),
    expect.stringMatching(/^--permission-mode /),
  ]);
  expect(heedManaged(given, [])).toEqual({ flags: given, notices: [] });
});
