import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { SandboxSettings, Settings } from "../../protocol/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import type { SandboxOptions } from "../../workspace/index.ts";
import type { Environment } from "../places.ts";

export interface SandboxRequest {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly transcript: Pick<Transcript, "path">;
  /** Of the session: commands may read what is kept there, and have their temporary files in it. */
  readonly outputDirectory: string;
  readonly tell?: ((message: string) => void) | undefined;
}

/** What commands of a session may see and write beside its workspaces. */
export function sandboxOptions({ settings, environment, transcript, ...rest }: SandboxRequest): SandboxOptions {
  const { mode, network = {}, filesystem = {} } = sandboxSettings(settings);
  const userHome = environment["HOME"] || homedir();
  const projects = transcript.path === undefined ? undefined : dirname(dirname(transcript.path));
  const { outputDirectory, tell = () => undefined } = rest;
  return {
    mode,
    scratch: join(outputDirectory, "scratch"),
    userHome,
    writable: (filesystem.allowWrite ?? []).map((path) => path.replace(/^~(?=\/)/, userHome)),
    // Other sessions, and settings that may hold keys.
    hidden: projects === undefined ? [] : [projects, join(dirname(projects), "settings.json")],
    shown: [outputDirectory],
    domains: network.allowedDomains ?? [],
    tell,
  };
}

export function sandboxSettings({
  sandbox = "auto",
}: Settings): SandboxSettings & Required<Pick<SandboxSettings, "mode">> {
  return typeof sandbox === "string" ? { mode: sandbox } : { mode: "auto", ...sandbox };
}
