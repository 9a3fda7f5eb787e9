import {
  isTrusted,
  loadProjectSettings,
  originsWithoutSecrets,
  reviewTrust,
  type TrustOptions,
} from "../../app/index.ts";
import type { Untrusted } from "../../terminal/index.ts";
import { renderOrigins } from "../commands/effective-settings.ts";

/**
 * Finds what trusting a directory would turn on. Returns undefined if there is nothing, or if the directory is trusted.
 * Never rejects.
 */
export async function findUntrusted(place: TrustOptions): Promise<Untrusted | undefined> {
  if (isTrusted(place)) return undefined;
  try {
    const { untrusted } = loadProjectSettings({ ...place, trust: false });
    // Trust does not extend to parent directories.
    const files = untrusted.filter((name) => !name.startsWith("../"));
    if (files.length === 0) return undefined;
    const { approved, trust } = await reviewTrust(place);
    const settings = originsWithoutSecrets(approved, { showEnv: true });
    return {
      cwd: place.cwd,
      files,
      settings: renderOrigins(settings, { origin: false }).split("\n").slice(0, -1),
      trust,
    };
  } catch {
    // Opening the session reports invalid files.
    return undefined;
  }
}
