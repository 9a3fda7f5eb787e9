/** A figure of this run: what we took, what the floor took, and the most the ratio may be. */
export interface Figure {
  readonly name: string;
  readonly ours: number;
  readonly floor: number;
  readonly unit: string;
  readonly limit: number;
  /** `ratio`: ours / floor may be at most the limit. `value`: ours itself may. */
  readonly kind?: "ratio" | "value";
}
