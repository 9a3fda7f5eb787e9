import type { SettingsOrigin } from "../../protocol/index.ts";

/** Returns the path of a nested setting in the format of `SettingsOrigin.path`. */
export function settingPath(parent: string, key: string): string {
  return /^[\w-]+$/.test(key) ? `${parent}.${key}` : `${parent}[${JSON.stringify(key)}]`;
}

/** Returns the file and line of a setting, for messages; undefined if it is not from a file. */
export function settingPlace(path: string, origins: readonly SettingsOrigin[] = []): string | undefined {
  return placeOf(
    origins.find((each) =>
      [path, `${path}.`, `${path}[`].some((start, at) =>
        at === 0 ? each.path === start : each.path.startsWith(start),
      ),
    ),
  );
}

/** Returns the file and line of a value, for messages. */
export function placeOf({ file, line }: Partial<SettingsOrigin> = {}): string | undefined {
  if (file === undefined) return undefined;
  return line === undefined ? file : `${file}:${line}`;
}
