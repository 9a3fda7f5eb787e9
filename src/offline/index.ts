// Owns: the offline model, a planner that does real work with real tools without a key or a network.
// Does not own: running the planned tool calls (runs), models accessed over HTTP (model).
// Called by: app, when no provider is configured.
export { createOfflineModel } from "./offline-model.ts";
