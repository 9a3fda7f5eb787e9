/** Ends words that may close with the lines a program wrote, which need no full stop. */
export function asSentence(reason: string): string {
  return reason.endsWith("\n") ? reason.trimEnd() : `${reason}.`;
}
