/** A question that an agent asks the user with the AskUserQuestion tool. */
export interface UserQuestion {
  readonly question: string;
  /** The subject of the question in a few words. */
  readonly header: string;
  readonly options: readonly UserQuestionOption[];
  /** Whether several options may be chosen. */
  readonly multiSelect?: boolean | undefined;
}

export interface UserQuestionOption {
  readonly label: string;
  readonly description?: string | undefined;
}

/**
 * Reply to one question: the labels of the chosen options, or the user's own text. Empty if the question was not
 * answered.
 */
export type UserReply = readonly string[];
