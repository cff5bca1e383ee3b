import { describe, expect, it } from 'vitest';
import { areaOf, ceilingFaults, countLines } from './count-lines.js';

describe('the line counter', () => {
  it('counts lines of TypeScript that hold a token', () => {
    const text = [
      '/** A comment',
      ' * of some lines. */',
      'const url = "https://coll.example"; // A comment beside code.',
      '',
      '/* before */ const text = `one',
      '',
      '// not a comment`;',
      '  // A comment.',
    ];
    expect(countLines(text.join('\n'), 'TypeScript')).toBe(4);
  });

  it('counts lines of C++ that are neither blank nor comments', () => {
    const text = ['// one', "char c = '\"'; /* two", 'lines */', '', 'auto s = "/* text";', '#define A  // three'];
    expect(countLines(text.join('\n'), 'C++')).toBe(3);
  });

  it('counts lines of Python that are neither blank nor comments', () => {
    expect(countLines('#!/usr/bin/env python3\nimport os  # why\n\n  # comment\nos.sync()\n', 'Python')).toBe(2);
  });

  it('counts sources by package, addon and tools, without their tests', () => {
    expect(areaOf('packages/core/src/values/dtype.ts')).toEqual({ area: 'packages/core', language: 'TypeScript' });
    expect(areaOf('native/engine/cpp/slices.h')).toEqual({ area: 'native/engine', language: 'C++' });
    expect(areaOf('tools/run/start.mjs')).toEqual({ area: 'tools', language: 'TypeScript' });
    for (const file of ['packages/core/src/values/dtype.test.ts', 'native/engine/cpp/test/slices.cc', 'docs/index.md'])
      expect(areaOf(file)).toBeUndefined();
  });
});

describe('ceilings', () => {
  const file = 'ceilings.json';

  it('accept areas with as many lines as their ceiling', () => {
    expect(ceilingFaults({ 'packages/core': 100, tools: 80 }, { 'packages/core': 100, tools: 100 }, file)).toEqual([]);
  });

  it('refuse an area above its ceiling', () => {
    expect(ceilingFaults({ tools: 101 }, { tools: 100 }, file)).toEqual([
      'tools has 101 lines of code, more than its ceiling of 100: remove code, or raise the ceiling in ceilings.json and give the reason in the commit message',
    ]);
  });

  it('refuse a new package without a ceiling and print the line to add', () => {
    expect(ceilingFaults({ 'packages/new': 41 }, {}, file)).toEqual([
      'packages/new has no ceiling: add "packages/new": 60 to ceilings.json',
    ]);
  });

  it('refuse the ceiling of a package that has gone', () => {
    expect(ceilingFaults({}, { 'packages/old': 60 }, file)).toEqual([
      'packages/old has a ceiling, but no code: remove it from ceilings.json',
    ]);
  });
});
