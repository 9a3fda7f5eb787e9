export interface Clock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /** Returns monotonic time in milliseconds, for measuring durations and waiting. */
  monotonic(): number;
}
