// The baseline for the terminal's first frame: a program that shows one line with Ink.
import { render, Text } from "ink";
import { createElement } from "react";

render(createElement(Text, {}, "first frame"));
setTimeout(() => {}, 60_000);
