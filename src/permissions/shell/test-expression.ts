import type { TestExpression, Word } from "unbash";
import { filePairTest, fileTest } from "./programs/builtins.ts";

/**
 * Explains why `[[ … ]]` could run commands; undefined if it can't. Tests of variables evaluate their
 * names, and numeric comparisons evaluate their operands as arithmetic.
 */
export function testProblem(expression: TestExpression): string | undefined {
  switch (expression.type) {
    case "TestUnary":
      return fileAndTextTests.has(expression.operator)
        ? undefined
        : `bash evaluates the operand of \`${expression.operator}\`, which can run commands`;
    case "TestBinary": {
      if (textComparisons.has(expression.operator)) return undefined;
      const numbers = [expression.left, expression.right].every((word) => /^-?\d{1,18}$/.test(word.text));
      return numbers
        ? undefined
        : `bash evaluates the operands of \`${expression.operator}\` as arithmetic, which can run commands`;
    }
    case "TestLogical":
      return expression.operands.map(testProblem).find((problem) => problem !== undefined);
    case "TestNot":
      return testProblem(expression.operand);
    case "TestGroup":
      return testProblem(expression.expression);
  }
}

/** Returns the tests in `[[ … ]]` whose operands are files. */
export function fileTestsIn(
  expression: TestExpression,
): readonly { readonly operator: string; readonly words: readonly Word[] }[] {
  switch (expression.type) {
    case "TestUnary":
      return fileTest.test(expression.operator) ? [{ operator: expression.operator, words: [expression.operand] }] : [];
    case "TestBinary": {
      const { operator, left, right } = expression;
      return filePairTest.test(operator) ? [{ operator, words: [left, right] }] : [];
    }
    case "TestLogical":
      return expression.operands.flatMap(fileTestsIn);
    case "TestNot":
      return fileTestsIn(expression.operand);
    case "TestGroup":
      return fileTestsIn(expression.expression);
  }
}

const fileAndTextTests = new Set("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -z -n".split(" "));
const textComparisons = new Set("= == != =~ < > -nt -ot -ef".split(" "));
