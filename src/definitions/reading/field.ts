/** One top-level entry of a frontmatter or of the JSON form. */
export interface Field {
  /** As written. */
  readonly key: string;
  readonly value: unknown;
  /** A scalar as its author typed it: `007`, `1.10`. */
  readonly text?: string;
  /** The lines of the value, for readings that must be more tolerant than YAML. */
  readonly raw?: string;
  /** In the file, from 1. */
  readonly line: number;
}
