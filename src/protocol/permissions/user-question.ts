/** A question of an agent to the user, by the tool AskUserQuestion. */
export interface UserQuestion {
  readonly question: string;
  /** Names in a few words what is decided. */
  readonly header: string;
  readonly options: readonly UserQuestionOption[];
  /** Several options may be chosen. */
  readonly multiSelect?: boolean | undefined;
}

export interface UserQuestionOption {
  readonly label: string;
  readonly description?: string | undefined;
}

/** Reply to one question: labels of chosen options, or the user's own words. Empty: not answered. */
export type UserReply = readonly string[];
