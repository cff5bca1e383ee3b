import { expect, it } from 'vitest';
import type { Line } from './line.js';
import { exitCodeOf, jsonOf, reportOf, textOf } from './report.js';

const fact: Line = { name: 'caches', text: 'L2 1 MiB per core' };
const ok: Line = { name: 'TLS', verdict: 'ok', text: 'works' };
const slow: Line = { name: 'engine', verdict: 'slow', text: 'wasm', cure: 'unset COLL_ENGINE' };
const broken: Line = { name: 'ports', verdict: 'broken', text: 'none', cure: 'choose another' };

it('textOf prints a verdict, a name and a text per line, the cures, and a summary', () => {
  expect(textOf(reportOf([fact, ok, slow, broken]), false).split('\n')).toEqual([
    '        caches         L2 1 MiB per core',
    'ok      TLS            works',
    'slow    engine         wasm',
    '                       cure: unset COLL_ENGINE',
    'broken  ports          none',
    '                       cure: choose another',
    '',
    '1 broken, 1 slow',
  ]);
  expect(textOf(reportOf([fact, ok]), false)).toMatch(/\n\nnothing is broken or slow$/);
});

it('jsonOf leaves out what a line does not have', () => {
  const line: Line = { data: { a: 1 }, ...slow };
  expect(jsonOf(reportOf([fact, line]))).toBe(
    JSON.stringify({ verdict: 'slow', lines: [fact, { ...slow, data: { a: 1 } }] }, undefined, 2),
  );
});

it('textOf colours only verdicts', () => {
  expect(textOf(reportOf([fact, broken]), true)).toContain('\u001b[31mbroken  \u001b[39mports          none\n');
});

it.each([
  [[fact, ok], 'ok', 0, 0],
  [[ok, slow], 'slow', 0, 1],
  [[slow, broken], 'broken', 2, 2],
] as const)('the exit code follows from the worst verdict', (lines, verdict, code, strictCode) => {
  const report = reportOf(lines);
  expect(report).toEqual({ verdict, lines });
  expect([exitCodeOf(report, false), exitCodeOf(report, true)]).toEqual([code, strictCode]);
});
