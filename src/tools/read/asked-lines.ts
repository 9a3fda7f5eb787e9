/** The part of a file that was asked for. */
export interface AskedLines {
  /** First line, from 1. */
  readonly offset: number;
  readonly limit: number;
}

/** Below what hands let through, so that a page ends where we say it ends. */
export const MAX_CHARACTERS = 28_000;

export function pastEnd(name: string, total: number, offset: number): string {
  return `${name} has ${total} lines; offset ${offset} is past its end.`;
}
