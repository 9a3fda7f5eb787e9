/** A measured figure: the value for Retinue, the value for the floor, and the highest acceptable ratio. */
export interface Figure {
  readonly name: string;
  readonly ours: number;
  readonly floor: number;
  readonly unit: string;
  readonly limit: number;
  /** `ratio` (default): `ours / floor` may be at most the limit. `value`: `ours` may be at most the limit. */
  readonly kind?: "ratio" | "value";
}
