export interface Clock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /** Returns milliseconds that never go backwards, for measuring and waiting. */
  monotonic(): number;
}
