export interface Clock {
  /** Milliseconds since 1970, for people. */
  now(): number;
  /** Milliseconds that never go back, for measuring and waiting. */
  monotonic(): number;
}
