const variable = "RETINUE_TAG";
const separator = ":";

/**
 * Adds the tags of a process to its environment. Tags that this process was started with stay in front, so that a
 * program that ends this process also finds the processes that this process started.
 */
export function tagEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  tags: readonly string[],
  inherited = process.env[variable],
): Record<string, string | undefined> {
  if (tags.length === 0 || !tags.every((tag) => /^[\w.-]+$/.test(tag))) {
    throw new Error(`A process tag must consist of letters, digits, ".", "_" and "-", not ${JSON.stringify(tags)}.`);
  }
  const all = new Set([...(inherited ? inherited.split(separator) : []), ...tags]);
  return { ...env, [variable]: [...all].join(separator) };
}

/** Returns true if an environment, in the format of /proc, has any tag. */
export function isTagged(environment: string): boolean {
  return `\0${environment}`.includes(`\0${variable}=`);
}

/**
 * Returns true if an environment has the tag. The environment has the format of /proc: `NAME=value` entries separated
 * by NUL.
 */
export function carriesTag(environment: string, tag: string): boolean {
  const start = `\0${environment}`.indexOf(`\0${variable}=`);
  if (start < 0) return false;
  const end = environment.indexOf("\0", start);
  const value = environment.slice(start + variable.length + 1, end < 0 ? undefined : end);
  return value.split(separator).includes(tag);
}
