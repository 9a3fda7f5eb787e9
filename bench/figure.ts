/** A measured figure, with the value for Retinue, the value for the baseline and the highest acceptable ratio. */
export interface Figure {
  readonly name: string;
  readonly ours: number;
  readonly baseline: number;
  readonly unit: string;
  readonly limit: number;
  /** Value that must not exceed the limit: `ours / baseline` for `ratio` (the default), or `ours` for `value`. */
  readonly kind?: "ratio" | "value";
}
