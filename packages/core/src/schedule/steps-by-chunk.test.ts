import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Round, Transfer } from './schedule.js';
import { stepsOf } from './steps.js';
import { stepsByChunk } from './steps-by-chunk.js';

const [ranks, chunks] = [40, 4];

/** Transfers of a round: of each chunk, some ranks send to each of some others. */
const rounds: fc.Arbitrary<Round[]> = fc.array(
  fc
    .array(fc.record({ from: fc.nat({ max: 19 }), to: fc.integer({ min: 20, max: 39 }), chunk: fc.nat({ max: 3 }) }))
    .map((all): Round => {
      const once = new Map(all.map((one) => [`${one.from} ${one.to} ${one.chunk}`, one]));
      const isTarget = (one: Transfer, { to, chunk }: { to: number; chunk: number }) =>
        one.to === to && one.chunk === chunk;
      // Several transfers to one target reduce; a single one may be a copy.
      const transfers = [...once.values()].map((one) => ({ ...one, reduce: true }));
      return transfers.map((one) => {
        const isAlone = transfers.filter((other) => isTarget(other, one)).length === 1;
        return { ...one, reduce: !isAlone || one.from % 2 === 0 };
      });
    }),
  { maxLength: 5 },
);

it('stepsByChunk returns the steps of all rounds, chunk by chunk', () => {
  fc.assert(
    fc.property(rounds, (schedule) => {
      const { begins, counts, words } = stepsByChunk({ ranks, chunks, rounds: schedule });
      for (let chunk = 0; chunk < chunks; chunk++) {
        // The order of the steps of a round does not matter.
        const ofRounds = schedule.map((round) =>
          stepsOf(round)
            .filter((step) => step.chunk === chunk)
            .toSorted((one, other) => one.to - other.to),
        );
        const expected = ofRounds.flat().map(({ to, operands }) => [to, operands.length, ...operands]);
        expect([...words.subarray(begins[chunk], begins[chunk + 1])]).toEqual(expected.flat());
        expect(counts[chunk]).toBe(expected.length);
      }
    }),
  );
});
