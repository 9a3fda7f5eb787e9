/** One top-level entry of a frontmatter or of the JSON form. */
export interface Field {
  /** As written in the file. */
  readonly key: string;
  readonly value: unknown;
  /** Source text of a scalar that is not a string: `007`, `1.10`. */
  readonly text?: string | undefined;
  /** Source text of the value, for readers that are more tolerant than YAML. */
  readonly raw?: string | undefined;
  /** Line number in the file, starting at 1. */
  readonly line: number;
}
