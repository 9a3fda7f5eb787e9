import { inputOf } from "../../loop/index.ts";
import type { Tool, ToolSpec } from "../../ports/index.ts";
import {
  canonicalToolName,
  type JsonObject,
  type ToolCall,
  type UserQuestion,
  type UserQuestionOption,
  type UserReply,
} from "../../protocol/index.ts";

const NAME = "AskUserQuestion";

/** Spec of the tool, for sessions in which someone can answer questions. */
export const askUserQuestionSpec: ToolSpec = {
  declaration: {
    name: NAME,
    description:
      "Asks the user one to four questions and waits for the answers. Use it when only the user can decide and a wrong guess would be costly: an unclear requirement, or a choice between approaches that is hard to change later. Do not ask what you can find out by reading or trying, what has a sensible default, or whether to continue. Ask everything you need in one call. The user can always answer in their own words, so do not add an option for that. If you recommend an option, put it first and say so in its description. If a question has no sensible options, ask it in your answer instead.",
    inputSchema: {
      type: "object",
      properties: {
        questions: {
          type: "array",
          minItems: 1,
          maxItems: 4,
          description: "The questions.",
          items: {
            type: "object",
            properties: {
              question: { type: "string", minLength: 1, description: "The complete question." },
              header: { type: "string", description: "Topic of the question, in one to three words." },
              options: {
                type: "array",
                minItems: 2,
                maxItems: 4,
                description: "The choices.",
                items: {
                  type: "object",
                  properties: {
                    label: { type: "string", minLength: 1, description: "The choice, in one to five words." },
                    description: { type: "string", description: "What this choice would mean." },
                  },
                  required: ["label"],
                },
              },
              multiSelect: { type: "boolean", description: "The user may choose several options. Default: false." },
            },
            required: ["question", "header", "options"],
          },
        },
      },
      required: ["questions"],
    },
  },
  traits: { parallel: false, effects: false, resumable: true },
};

/** Result of a call in a session in which the tool is not available. */
export const NO_ONE_TO_ASK =
  "No one can answer questions in this session. Decide yourself, continue, and say what you assumed.";

/** Creates the tool. Only an answer allows a call, so when the tool runs, the question has been answered. */
export function createAskUserQuestion(spec: ToolSpec): Tool {
  return {
    ...spec,
    run: async (input, { replies = [] }) => {
      if (replies.every((reply) => reply.length === 0))
        return { content: "The question was not answered. Decide yourself, continue, and say what you assumed." };
      const answers = questionsOf(input).map((question, index) => answerText(question, replies[index] ?? []));
      return { content: answers.join("\n\n") };
    },
  };
}

function answerText({ question, options }: UserQuestion, reply: UserReply): string {
  const labels = new Set(options.map(({ label }) => label));
  const lines = reply.map((text) => (labels.has(text) ? text : `${text} (in the user's own words)`));
  return [question, ...(lines.length === 0 ? ["(not answered)"] : lines)].join("\n");
}

/** Returns the questions in an AskUserQuestion call. Undefined for all other calls. */
export function questionsIn(call: ToolCall): readonly UserQuestion[] | undefined {
  return canonicalToolName(call.name) === NAME ? questionsOf(inputOf(call)) : undefined;
}

/** Reads the questions from an input that matches the schema. */
function questionsOf(input: JsonObject): readonly UserQuestion[] {
  return (input["questions"] as readonly JsonObject[]).map(({ question, header, options, multiSelect }) => ({
    question: question as string,
    header: header as string,
    options: options as unknown as readonly UserQuestionOption[],
    // Models sometimes write "true" as a string.
    multiSelect: String(multiSelect) === "true" ? true : undefined,
  }));
}
