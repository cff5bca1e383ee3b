import { nameOf } from '@coll/core/plugin';
import type { Algorithm, Round } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { algorithmSuite } from './algorithm-suite.js';

/** The messages of the tests that an algorithm fails. */
function failuresOf(algorithm: Algorithm, ranks: readonly number[]): string[] {
  const failures: string[] = [];
  const test = (name: string, run: () => void) => {
    try {
      run();
    } catch (error) {
      failures.push(`${name}: ${(error as Error).message}`);
    }
  };
  algorithmSuite({ test, algorithm, ranks });
  return failures;
}

describe('the algorithm suite', () => {
  it('accepts a correct algorithm', () => {
    expect(failuresOf(directAlgorithm(), [1, 2, 3])).toEqual([]);
  });

  it('accepts an algorithm that refuses everything except all-reduce', () => {
    const refuses: Algorithm['refuses'] = ({ kind }) => (kind === 'all-reduce' ? undefined : 'only all-reduce');
    expect(failuresOf({ ...directAlgorithm(), refuses }, [1, 4])).toEqual([]);
  });

  it('fails an algorithm that refuses all-reduce', () => {
    const failures = failuresOf({ ...directAlgorithm(), refuses: () => 'it is Sunday' }, [2]);
    expect(failures).toEqual([
      'supports all-reduce among 2 ranks: direct refuses all-reduce among 2 ranks: it is Sunday',
    ]);
  });

  it('reports an algorithm that neither plans nor refuses a collective', () => {
    const plan: Algorithm['plan'] = () => {
      throw new TypeError('no idea');
    };
    const [first] = failuresOf({ name: 'lost', plan }, [3]);
    expect(first).toContain('lost: all-reduce sum among 3 ranks is neither planned nor refused: no idea');
    const [empty] = failuresOf({ name: 'mute', plan: () => undefined as never }, [3]);
    expect(empty).toContain('is neither planned nor refused: its plan has no rounds');
  });

  it('fails representatives that are not the busiest ranks', () => {
    const representatives: Algorithm['representatives'] = (_, ranks) => {
      const [first, second] = directAlgorithm().plan({ kind: 'all-reduce', op: 'sum' }, ranks).rounds as [Round, Round];
      return { ranks, chunks: ranks, representativeRounds: [first, second.slice(0, 1)] };
    };
    const failures = failuresOf({ ...directAlgorithm(), representatives }, [3]).join('\n');
    expect(failures).toContain(
      'all-reduce sum among 3 ranks: with 1 ranks per worker and 5 bytes, representatives cost',
    );
  });

  it('fails a wrong schedule, which it detects both by proof and by arithmetic', () => {
    const plan: Algorithm['plan'] = (collective, ranks) => {
      const schedule = directAlgorithm().plan(collective, ranks);
      return { ...schedule, rounds: schedule.rounds.map((round) => round.slice(1)) };
    };
    const failures = failuresOf({ name: 'forgetful', plan }, [3]).join('\n');
    expect(failures).toContain(
      'forgetful: all-reduce sum among 3 ranks is wrong: after the last round chunk 0 at rank 1',
    );
    expect(failures).toContain(
      'forgetful: all-reduce sum among 3 ranks on 1 elements returns a wrong result on rank 1',
    );
  });

  it('fails a schedule with a redundant transfer', () => {
    const plan: Algorithm['plan'] = (collective, ranks) => {
      const schedule = directAlgorithm().plan(collective, ranks);
      const [last = []] = schedule.rounds.slice(-1);
      return { ...schedule, rounds: [...schedule.rounds, last.filter(({ reduce }) => !reduce)] };
    };
    expect(failuresOf({ name: 'wordy', plan }, [2]).join('\n')).toMatch(
      /wordy: all-reduce sum among 2 ranks is wrong: round 2: rank \d copies chunk \d to rank \d, which already has the chunk: remove this transfer/,
    );
  });

  it('fails a schedule for a different number of ranks', () => {
    const failures = failuresOf({ name: 'small', plan: (collective) => directAlgorithm().plan(collective, 2) }, [3]);
    expect(failures.join('\n')).toContain('small: all-reduce sum among 3 ranks is a schedule for 2 ranks');
  });

  it('fails an algorithm that sends data in a group of one rank', () => {
    const plan: Algorithm['plan'] = () => ({ ranks: 1, chunks: 1, rounds: [[]] });
    expect(failuresOf({ name: 'busy', plan }, [1]).join('\n')).toContain('has rounds, but a single rank needs none');
  });

  it('fails an algorithm that returns different plans for the same collective', () => {
    const turned = new Set<string>();
    const plan: Algorithm['plan'] = (collective, ranks) => {
      const schedule = directAlgorithm().plan(collective, ranks);
      if (turned.delete(nameOf(collective))) return schedule;
      turned.add(nameOf(collective));
      return { ...schedule, rounds: schedule.rounds.map((round) => round.toReversed()) };
    };
    expect(failuresOf({ name: 'moody', plan }, [2]).join('\n')).toContain('differs when it is planned again');
  });

  it('fails an algorithm whose stream() and plan() return different transfers', () => {
    const torn = { ...ringAlgorithm(), name: 'torn' };
    expect(failuresOf(torn, [2, 3])).toEqual([]);
    const failures = failuresOf({ ...torn, plan: directAlgorithm().plan }, [3]).join('\n');
    expect(failures).toContain('torn: all-reduce sum among 3 ranks streams other transfers than it plans');
  });
});
