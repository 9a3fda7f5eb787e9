// Owns: the built-in tools, one folder each: what they do, what they tell the model, what they hold for an agent.
// Does not own: permissions and time limits (hands), files and processes (workspace), what is shown to people.
// Called by: app, which makes them; hands, which run them.
export { createWebFetchTool, type WebFetchDependencies } from "./web-fetch/web-fetch.ts";
