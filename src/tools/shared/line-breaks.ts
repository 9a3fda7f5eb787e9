/** True when most lines of the text end in CRLF. */
export function usesCrlf(text: string): boolean {
  if (!text.includes("\r\n")) return false;
  const crlf = text.split("\r\n").length - 1;
  return crlf * 2 > text.split("\n").length - 1;
}

export function toCrlf(text: string): string {
  return toLf(text).replaceAll("\n", "\r\n");
}

export function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
