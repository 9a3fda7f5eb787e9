/** Keys that work while the user is writing a prompt, in the order in which `/help` lists them. */
export const mainKeys = {
  enter: ["Enter", "send, or queue while the main agent is working"],
  "ctrl-s": ["Ctrl+S", "send now: the agent reads it before its next step"],
  "ctrl-enter": ["Ctrl+Enter", "the same as Ctrl+S, if your terminal has this key"],
  up: ["↑", "edit the queued prompt, or go to earlier prompts"],
  down: ["↓", "go to newer prompts or, if the box is empty, to the agents"],
  "ctrl-r": ["Ctrl+R", "search earlier prompts"],
  tab: ["Tab", "complete a name, answer a request, or move to the agents"],
  "shift-tab": ["Shift+Tab", "change the permission mode: default, acceptEdits, plan"],
  "ctrl-b": ["Ctrl+B", "move the agents that the main agent is waiting for to the background"],
  "ctrl-o": ["Ctrl+O", "show the conversation with complete calls and output"],
  esc: ["Esc", "interrupt the main agent; press twice to clear the box"],
  "ctrl-c": ["Ctrl+C", "clear the box, or interrupt; press twice to quit"],
  "ctrl-d": ["Ctrl+D", "quit, if the box is empty"],
  "ctrl-l": ["Ctrl+L", "clear and redraw the screen"],
} as const;

export type MainKey = keyof typeof mainKeys;

export function isMainKey(name: string): name is MainKey {
  return Object.hasOwn(mainKeys, name);
}
