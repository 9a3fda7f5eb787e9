const MOST = 64;

/** Says what is wrong with the name of a new agent. Undefined for a name that can be used. */
export function nameFault(name: string): string | undefined {
  if (name === "") return "Enter a name.";
  if (name.length > MOST) return `The name has ${name.length} characters. Use at most ${MOST}.`;
  const odd = /[^A-Za-z0-9_-]/u.exec(name)?.[0];
  if (odd !== undefined)
    return `A name can't contain ${/\s/.test(odd) ? "spaces" : `"${odd}"`}. Use letters (a to z), digits, hyphens and underscores.`;
  return /^[A-Za-z0-9]/.test(name) ? undefined : "A name must begin with a letter or a digit.";
}
