import { expect, it } from "vitest";
import { withoutManaged } from "./without-managed.ts";

it("leaves out options that managed settings override, and names the file", () => {
  const given = { agent: "Explore", model: "m", maxTurns: 3, permissionMode: "default" } as const;
  const file = "/etc/retinue/managed-settings.json";
  expect(
    withoutManaged(given, [
      { path: "permissions.defaultMode", scope: "managed", file, value: "plan" },
      { path: "agent", scope: "managed", file, value: "reviewer" },
      { path: "model", scope: "user", file: "settings.json", value: "other" },
    ]),
  ).toEqual({
    unmanaged: { model: "m", maxTurns: 3 },
    overridden: [
      { name: "agent", path: "agent", file },
      { name: "permissionMode", path: "permissions.defaultMode", file },
    ],
  });
  expect(withoutManaged(given, [])).toEqual({ unmanaged: given, overridden: [] });
});
