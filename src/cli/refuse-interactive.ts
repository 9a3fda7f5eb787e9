import { UserError } from "../lib/index.ts";

export function refuseInteractive(prompt: string): never {
  const example = prompt === "" ? "Map this repository" : prompt.replaceAll('"', '\\"');
  throw new UserError("This version has no interactive mode yet", {
    code: "usage",
    cure: `Use: retinue -p "${example}" (retinue --help shows more).`,
    exitCode: 2,
  });
}
