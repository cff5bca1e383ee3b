import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WholeLines } from './whole-lines.js';

function through(lines: WholeLines, chunks: readonly Uint8Array[]): Promise<Buffer> {
  for (const chunk of chunks) lines.write(Buffer.from(chunk));
  lines.end();
  return buffer(lines);
}

const newlineOften = fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 }));
const chunk = fc.array(newlineOften, { maxLength: 8 }).map((bytes) => Uint8Array.from(bytes));

describe('WholeLines', () => {
  it('passes on all bytes with a prefix per line, however the input is split', async () => {
    const property = fc.asyncProperty(fc.array(chunk), fc.constantFrom('', '[3] '), async (chunks, prefix) => {
      const text = Buffer.concat(chunks).toString('latin1');
      const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
      const expected = text === '' ? '' : `${lines.map((line) => prefix + line).join('\n')}\n`;
      expect((await through(new WholeLines(prefix), chunks)).toString('latin1')).toBe(expected);
    });
    await fc.assert(property);
  });

  it('keeps the label of a replica in a thread of the same rank', async () => {
    const lines = ['[1.2] a', '[1.12] b', '[2.1] c', '[1.] d', '[1.2]e', ''].join('\n');
    expect(String(await through(new WholeLines('[1] '), [Buffer.from(lines)]))).toBe(
      '[1.2] a\n[1.12] b\n[1] [2.1] c\n[1] [1.] d\n[1] [1.2]e\n',
    );
  });

  it('passes on complete lines at once and holds back incomplete lines', () => {
    const lines = new WholeLines('> ');
    lines.write('a');
    expect(lines.read()).toBe(null);
    lines.write('b\nc\nd');
    expect(String(lines.read())).toBe('> ab\n> c\n');
  });

  it('splits a very long line instead of holding it back', async () => {
    const part = Buffer.alloc(2 ** 20, 'x');
    const passed = await through(
      new WholeLines(),
      Array.from({ length: 18 }, () => part),
    );
    expect(
      passed
        .toString('latin1')
        .split('\n')
        .map((line) => line.length),
    ).toEqual([17 * 2 ** 20, 2 ** 20, 0]);
  });
});
