// What the fixture's commands print, and how it reads in a message.
import assert from 'node:assert/strict';

// The commands mixed and flood print these.
export const mixedLines = Array.from({ length: 1000 }, (_, i) => [`out ${i}`, `err ${i}`]).flat();
export const flood = 2_900_000;
export const floodBytes = Array.from({ length: 7 }, (_, i) => Math.max(0, Math.min(flood, 10 ** (i + 1) - 1) - 10 ** i + 1) * (i + 2)).reduce((a, b) => a + b);

// unfenced is text without what makes code blocks of it: lines that open and close
// them, and indents.
export function unfenced(text) {
  return text
    .split('\n')
    .filter((line) => !/^`{3,}\w*$/.test(line))
    .map((line) => line.replace(/^ {4}/, ''))
    .join('\n');
}

// code is the one of the line `confirm <code>` that a message asks to type.
export function code(text) {
  const found = text.match(/^[\s`>]*confirm ([A-Za-z0-9-]+)`*$/m);
  assert.ok(found, `no line to type in: ${text}`);
  return found[1];
}
