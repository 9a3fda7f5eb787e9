import { describe, expect, it } from "vitest";
import { leadingComment } from "./leading-comment.ts";

function commentIn(text: string): string {
  const lines = text.split("\n").map((line, index) => ({ number: index + 1, text: line }));
  return leadingComment({ lines, total: lines.length })
    .map((line) => `${line.number} ${line.text}`)
    .join("|");
}

describe("leadingComment", () => {
  it.each([
    ["a line comment", "// Reads files.\n// And writes them.\nexport {};", "1 Reads files.|2 And writes them."],
    ["only its first paragraph", "//! Finds leaves.\n//!\n//! More.\n", "1 Finds leaves."],
    ["a block", "/*!\nRegex glue.\n*/\npub fn x() {}", "2 Regex glue."],
    [
      "a comment after a license",
      "/*\n * Copyright 2020\n */\n\n/**\n * @file Brews tea.\n * @author Ada\n */\n",
      "6 Brews tea.",
    ],
    ["lines after a license", "# Copyright 2020 Ada\n# SPDX-License-Identifier: MIT\n\n# Counts.\nx = 1", "4 Counts."],
    ["nothing from a license", "// Copyright 2020\n// All rights reserved.\nexport {};", ""],
    [
      "a docstring below a #! line",
      '#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""\nBoils water.\n"""\nimport os',
      "4 Boils water.",
    ],
    ["a docstring that ends in odd ways", 'r""" Maps characters.\n\n"""#"\nimport codecs', "1 Maps characters."],
    [
      "the text below the name of a module",
      '"""distutils.dist\n\nDescribes a distribution.\n"""',
      "3 Describes a distribution.",
    ],
    [
      "the comment of a Java class",
      "package a.b;\n\nimport x.y;\n\n/**\n * Starts the server.\n */\npublic class A {}",
      "6 Starts the server.",
    ],
    [
      "the comment of a PHP class",
      "<?php\n\n/* (c) Ada */\n\nnamespace Acme;\n\n/** Holds tea. */\nclass Cup {}",
      "7 Holds tea.",
    ],
    ["no comment below code", "import a from 'b';\n// About x.\nconst x = 1;", ""],
    ["no author", "# Author: Ada\n# Contact: a@b.c\n\nx = 1", ""],
    ["nothing from an empty file", "", ""],
  ])("returns %s", (_, text, expected) => {
    expect(commentIn(text)).toBe(expected);
  });
});
