import { describe, expect, it } from 'vitest';
import { endsOver, problemsOf } from './attacked-group.ts';
import { AttackedNetwork, purposes } from './attacked-network.ts';
import { attackRecord, recordAttacks } from './attacked-records.ts';

describe('a relay that', () => {
  it.concurrent.each(Object.entries(recordAttacks))(
    '%s gets an error on both ranks, and no wrong result',
    async (_, change) => {
      const places = Object.entries(purposes).flatMap(([name, purpose]) =>
        [0, 1].map((from) => ({ name, purpose, from: from as 0 | 1 })),
      );
      const found = await Promise.all(
        places.map(async ({ name, purpose, from }) => {
          const network = new AttackedNetwork();
          const attack = attackRecord(network, purpose, from, change);
          const ends = await endsOver(network);
          const errors = ends.filter(({ error }) => error !== undefined).length;
          return { name, from, isMade: attack.isMade, errors, problems: problemsOf(ends) };
        }),
      );
      const expected = places.map(({ name, from }) => ({ name, from, isMade: true, errors: 2, problems: [] }));
      expect(found).toEqual(expected);
    },
  );
});
