import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { createPlace, retinue, serve } from "../cli/command-line.ts";
import { answerWith, openTerminal, say } from "./session.ts";

/** Returns the text of the last message that the model has received. */
function lastMessage(server: Awaited<ReturnType<typeof serve>>): string {
  const body = server.requests.at(-1)?.body as { readonly messages: readonly unknown[] };
  return JSON.stringify(body.messages.at(-1));
}

const image = Buffer.from("\u0089PNG\r\n\u001a\nnot really an image", "latin1");

describe("the user's input", needs("tmux"), () => {
  it("is completed: commands after a slash, files and agents after an at sign", async () => {
    const place = createPlace();
    mkdirSync(join(place.cwd, "src"));
    writeFileSync(join(place.cwd, "src/invoice.ts"), "");
    const server = await serve([{ content: "Read." }]);
    const terminal = await openTerminal(server, place);
    await terminal.type("/co");
    await terminal.waitFor("/cost");
    await terminal.press("Escape");
    await terminal.waitFor((screen) => !screen.includes("/cost"));
    await terminal.press("C-u");
    await terminal.type("Explain @inv");
    await terminal.waitFor("› @src/invoice.ts");
    await terminal.press("Tab");
    await say(terminal, "please");
    await terminal.waitFor("Read.");
    expect(lastMessage(server)).toContain("Explain @src/invoice.ts please");
  });

  it("can be a shell command, whose output is sent with the next prompt", async () => {
    const server = await serve([{ content: "Seen." }]);
    const terminal = await openTerminal(server);
    await say(terminal, "!echo one; echo two; exit 3");
    await terminal.waitFor(/! echo one; echo two; exit 3\n {2}one\n {2}two\n {2}\(exit code 3\)/);
    await say(terminal, "What happened?");
    await terminal.waitFor("Seen.");
    expect(lastMessage(server)).toMatch(/one\\ntwo\\n\(exit code 3\).*What happened\?/);
  });

  it("can be a task for an agent, which starts at once", async () => {
    const server = await serve([{ content: "It is in src." }, { content: "In src, then." }]);
    const terminal = await openTerminal(server);
    await say(terminal, "@Explore find the router");
    await terminal.waitFor("In src, then.");
    expect(lastMessage(server)).toMatch(/@Explore find the router.*<task_notification agent=.*It is in src\./);
  });

  it("can be a shell command whose output names an image, which is not sent", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "shot.png"), image);
    const server = await serve([{ content: "Seen." }]);
    const terminal = await openTerminal(server, place);
    await say(terminal, "!echo look: @shot.png");
    await terminal.waitFor(/\n {2}look: @shot.png/);
    await say(terminal, "What happened?");
    await terminal.waitFor("Seen.");
    expect(lastMessage(server)).toContain("look: @shot.png");
    expect(lastMessage(server)).not.toContain(image.toString("base64"));
  });

  it("can mention an image, which is sent with the prompt", async () => {
    const place = createPlace();
    writeFileSync(join(place.cwd, "shot.png"), image);
    const server = await serve([{ content: "A picture." }]);
    const terminal = await openTerminal(server, place);
    await say(terminal, "What is on @shot.png ?");
    await terminal.waitFor("A picture.");
    expect(lastMessage(server)).toContain(image.toString("base64"));
    expect(await terminal.screen()).toContain("› What is on @shot.png ? [1 image]");
  });

  it("can be several lines pasted in a terminal that does not mark pastes", async () => {
    const server = await serve([{ content: "Read all." }]);
    const terminal = await openTerminal(server);
    await terminal.paste("first line\nsecond line\nthird line\n", { isMarked: false });
    await terminal.waitFor(/^› first line\n {2}second line\n {2}third line$/m);
    await terminal.press("Enter");
    await terminal.waitFor("Read all.");
    expect(server.requests).toHaveLength(1);
  });

  it("can be a long pasted text, which is folded in the display and sent in full", async () => {
    const server = await serve([{ content: "Long." }]);
    const terminal = await openTerminal(server);
    const text = Array.from({ length: 120 }, (_, index) => `line ${index}`).join("\n");
    await terminal.paste(text);
    await terminal.waitFor("› [pasted 120 lines]");
    await terminal.press("Enter");
    await terminal.waitFor("Long.");
    expect(lastMessage(server)).toContain(text.replaceAll("\n", "\\n"));
  });

  it("can be an earlier prompt of 5,000 lines, which is edited", async () => {
    const server = await serve([{ content: "First." }, { content: "Second." }]);
    const terminal = await openTerminal(server);
    const text = Array.from({ length: 5_000 }, (_, index) => `line ${index} of a log`).join("\n");
    await terminal.paste(text);
    await terminal.waitFor("› [pasted 5,000 lines]");
    await terminal.press("Enter");
    await terminal.waitFor("First.");
    await terminal.press("Up");
    await terminal.waitFor("↑ line 4993 of a log");
    await terminal.type(", and its end");
    await terminal.press("Up", "Home");
    await terminal.type("> ");
    await terminal.waitFor("  > line 4998 of a log");
    await terminal.press("Enter");
    await terminal.waitFor("Second.");
    expect(lastMessage(server)).toContain(
      "line 4997 of a log\\n> line 4998 of a log\\nline 4999 of a log, and its end",
    );
  });
});

describe("commands", needs("tmux"), () => {
  it("show help, costs, rules and agents; unknown commands are reported", async () => {
    const server = await serve([{ content: "Hello." }]);
    const terminal = await openTerminal(server, { columns: 100, rows: 70 });
    await say(terminal, "Hi");
    await terminal.waitFor("Hello.");
    await say(terminal, "/help");
    await terminal.waitFor("/permissions");
    await say(terminal, "/cost");
    await terminal.waitFor("1 turn, 0 calls");
    await say(terminal, "/permissions rules");
    await terminal.waitFor("Mode: default.");
    await say(terminal, "/agents");
    await terminal.waitFor("general-purpose");
    await terminal.type("explo");
    await terminal.waitFor("agents  explo");
    await terminal.press("Enter");
    await terminal.waitFor(/Explore[\s\S]*built-in/);
    await say(terminal, "/nothing");
    await terminal.waitFor("Unknown command /nothing.");
  });

  it("change the model and the mode, show the context, and go back to an earlier prompt", async () => {
    const place = createPlace();
    const file = join(place.cwd, "made.txt");
    const server = await serve([
      { content: "First answer." },
      { content: [{ tool: "Write", input: { file_path: "made.txt", content: "made" } }] },
      { content: [{ tool: "Bash", input: { command: "touch by-command" } }] },
      { content: "Written." },
    ]);
    const terminal = await openTerminal(server, { ...place, columns: 100, rows: 40 });
    await terminal.press("BTab");
    await terminal.waitFor(/Permission mode: acceptEdits/);
    await say(terminal, "First prompt");
    await terminal.waitFor("First answer.");
    await say(terminal, "Second prompt");
    await terminal.waitFor("y allow once");
    await answerWith(terminal, "a");
    await terminal.waitFor("Always allow");
    await terminal.press("Enter");
    await terminal.waitFor("Written.");
    await say(terminal, "/permissions rules");
    await terminal.waitFor(/Mode: acceptEdits\.\n[\s\S]*allow +Bash\(touch by-command\) +session/);
    expect(existsSync(file)).toBe(true);
    await say(terminal, "/context");
    await terminal.waitFor(/tokens of \d+[kM]/);
    await say(terminal, "/model large");
    await terminal.waitFor("claude-opus");
    await say(terminal, "/rewind");
    await terminal.waitFor("Go back to an earlier prompt");
    await terminal.press("Enter");
    const asked = await terminal.waitFor("Go back to “Second prompt”?");
    expect(asked).toMatch(/› r Go back and restore 1 file\n {2}k Go back and keep the file as it is\n {2}c Cancel\n/);
    expect(asked).toMatch(
      /│ This file will be restored:\n {2}│ {3}made\.txt\n {2}│ The effects of this command will stay:\n {2}│ {3}touch by-command/,
    );
    await terminal.press("Escape");
    await terminal.waitFor((screen) => !screen.includes("Go back to “Second prompt”?"));
    expect(existsSync(file)).toBe(true);
    await say(terminal, "/rewind");
    await terminal.waitFor("Go back to an earlier prompt");
    await terminal.press("Enter");
    await terminal.waitFor("Go back to “Second prompt”?");
    await terminal.press("r");
    await terminal.waitFor(/› Second prompt\n─/);
    await terminal.waitFor("The effects of 1 command were not undone: touch by-command.");
    expect(existsSync(file)).toBe(false);
    await terminal.press("C-u");
    await say(terminal, "/compact");
    await terminal.waitFor("There is nothing to compact yet.");
  });

  it("resume another session, and start a skill", async () => {
    const server = await serve([{ content: "First answer." }, { content: "Done as told." }]);
    const place = createPlace();
    mkdirSync(join(place.cwd, ".agents/skills/greet"), { recursive: true });
    writeFileSync(
      join(place.cwd, ".agents/skills/greet/SKILL.md"),
      "---\nname: greet\ndescription: Greets.\n---\nGreet $ARGUMENTS.\n",
    );
    await retinue(["trust", "add"], place);
    await retinue(["-p", "First prompt"], { ...place, server });
    const terminal = await openTerminal(server, place);
    await say(terminal, "/resume");
    await terminal.waitFor("Continue an earlier session");
    await terminal.press("Enter");
    await terminal.waitFor("First answer.");
    await terminal.type("/gre");
    await terminal.waitFor("Greets.");
    await terminal.press("Tab");
    await say(terminal, "the world");
    await terminal.waitFor("Done as told.");
    expect(lastMessage(server)).toContain("Greet the world.");
  });
});
