/** The directories at the start of a pattern that have no wildcard in them: nothing outside them can match. */
export function fixedDirectory(pattern: string): { readonly directory: string; readonly absolute: boolean } {
  const absolute = pattern.startsWith("/");
  const segments = pattern.replace(/^\/+|^(\.\/)+/, "").split("/");
  const fixed: string[] = [];
  for (const segment of segments.slice(0, -1)) {
    if (/[*?[\]{}()!+@\\]/.test(segment)) break;
    if (segment !== "" && segment !== ".") fixed.push(segment);
  }
  return { directory: fixed.join("/"), absolute };
}
