import { loadProjectSettings, stateDirectory } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { realDirectory } from "../real-directory.ts";
import { renderOrigins, withoutSecrets } from "./effective-settings.ts";

/** `retinue config show`: the settings that count here, and where each comes from. */
export async function config(command: Extract<Command, { kind: "config.show" }>): Promise<number> {
  const { json, origin, trust, settings: file } = command;
  const loaded = loadProjectSettings({
    home: stateDirectory(process.env),
    cwd: realDirectory(command.cwd ?? "."),
    environment: process.env,
    trust,
    ...(file === undefined ? {} : { file }),
  });
  const told = loaded.notices.map((notice) => `retinue: ${stripControls(notice)}\n`).join("");
  await createOutput(process.stderr, () => undefined).write(told);
  const output = createOutput(process.stdout, () => undefined);
  await output.write(json ? asJson(loaded, origin) : asText(loaded, origin));
  return exitCodes.succeeded;
}

type Loaded = ReturnType<typeof loadProjectSettings>;

function asJson({ settings, origins, files, compact, untrusted, trusted }: Loaded, origin: boolean): string {
  const shown = withoutSecrets(settings);
  const all = {
    settings: shown,
    origins: origins.map((each) => ({ ...each, value: withoutSecrets(each.value, each.path) })),
    permissionFiles: compact,
    files,
    trusted,
    untrusted,
  };
  return `${JSON.stringify(origin ? all : shown, null, 2)}\n`;
}

function asText({ origins }: Loaded, origin: boolean): string {
  if (origins.length === 0) return "Nothing is set; the defaults apply.\n";
  return renderOrigins(origins, { origin });
}
