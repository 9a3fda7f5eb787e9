export const introduction =
  "This is Retinue's offline model, not a language model. For a real one set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use a local server: `retinue --provider ollama --model NAME`.";

export function refuse(): string {
  return `${introduction}

I can't do this request. What I can do, with the tools and without a network:
- map a repository: "Map this repository"
- find where something is defined and used: "Where is createHands defined?"
- summarise a file or a directory: "Summarise src/lib"
- tell the recent git history: "What changed recently?"
- list files, read a file, search for a text: "Search for TODO"
`;
}
