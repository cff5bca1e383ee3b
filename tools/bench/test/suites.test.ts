import { expect, it } from 'vitest';
import type { Selection } from '../src/suites/selection.js';
import { sessionsOf } from '../src/suites/suites.js';
import { bytesOf, engines } from '../src/trial.js';

const selection: Selection = { isQuick: true, engines, peers: ['openmpi'], algorithms: undefined, bytes: undefined };

it('measures all-reduce from 4 B to 64 MiB', () => {
  const trials = sessionsOf('in-process', selection, 2).flatMap(({ pieces }) =>
    pieces.flat().flatMap((turn) => turn.trials),
  );
  const sizes = [...new Set(trials.map(bytesOf))];
  expect(sizes).toEqual([4, 64, 1024, 16_384, 262_144, 4_194_304, 67_108_864]);
});

it('takes the copy of a size, then our cases one by one, then each peer once a piece', () => {
  const [session] = sessionsOf('in-process', { ...selection, bytes: [4, 64, 2 ** 20] }, 2);
  const engineOrder = session?.pieces.map((piece) =>
    piece.map(({ trials }) => trials.map(({ engine }) => engine).join()),
  );
  const ours = engines.flatMap((engine) => [engine, engine, engine]);
  const size = ['copy', ...ours, ...ours];
  expect(engineOrder).toEqual([
    [...size, ...size, 'peer,peer,peer,peer'],
    [...size, 'peer,peer'],
  ]);
});

it('gives every rank as many elements where blocks are exchanged', () => {
  const sessions = sessionsOf('collectives', { ...selection, bytes: [4, 100, 1024] }, 3);
  const sizes = sessions.flatMap(({ pieces }) =>
    pieces.map((piece) => bytesOf((piece[0] as (typeof piece)[0]).trials[0] as never)),
  );
  expect(sizes).toEqual([12, 96, 1020]);
});

it('leaves threads out of packs that they cannot share', () => {
  const enginesOf = (ranks: number) =>
    sessionsOf('packing', { ...selection, isQuick: false, peers: [] }, ranks).map(({ pieces }) => {
      const ours = pieces.flat().flatMap(({ trials }) => trials.map(({ engine }) => engine));
      return [...new Set(ours)].join();
    });
  const all = ['copy', ...engines].join();
  expect(enginesOf(2)).toEqual([all, all, all]);
  expect(enginesOf(4)).toEqual([all, 'copy,portable', 'copy,portable']);
});
