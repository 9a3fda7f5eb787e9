export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never go backwards, for measuring and waiting. */
  monotonic(): number;
}
