/** The directory whose agents are shown. */
export interface AgentsPlace {
  readonly worker: string | undefined;
  readonly root: string;
  /** Changes when a file is written. */
  readonly version: number;
}
