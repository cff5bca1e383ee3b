import { beforeAll, describe, expect, it } from 'vitest';
import { exampleBlocks } from '../../../tools/tests/code-blocks.ts';
import { outcomesOf } from '../../../tools/tests/run-blocks.ts';
import type { Outcome } from '../../../tools/tests/run-programs.ts';
import './doubles.ts';

const programs = exampleBlocks().filter(({ lacks }) => lacks === 'a GPU');

describe('the examples that need a GPU', () => {
  let outcomes: ReadonlyMap<string, Outcome>;
  beforeAll(() => {
    outcomes = outcomesOf(programs, 'nccl');
  });

  it.each(programs)('run on test doubles, and print the documented output: $place', ({ place, prints }) => {
    const { printed, complaints } = outcomes.get(place) ?? { printed: '', complaints: 'did not end' };
    expect(complaints).toBe('');
    if (prints) expect(printed.trimEnd().split('\n')).toEqual(prints);
  });
});
