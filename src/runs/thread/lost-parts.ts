import type { Head, UserMessage } from "../../protocol/index.ts";

/** A conversation begins with a user's words; a damaged transcript may have lost them. */
export const lostWords: UserMessage = {
  role: "user",
  content: [{ type: "text", text: "[What was said here is lost: the transcript is damaged.]" }],
};

/** Stands in for a head that is gone from the disk: its bytes are lost, the words spoken under it are not. */
export const lostHead: Head = {
  provider: "lost",
  model: "lost",
  dialect: "anthropic",
  tools: [],
  system: "",
  systemContext: "",
  userContext: "",
};
