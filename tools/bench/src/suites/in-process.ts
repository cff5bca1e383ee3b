import { algorithmNames } from '../algorithms.js';
import { bytesPerElement, geometricSizes } from '../sizes.js';
import { inputKinds, type Piece, type Session, type Trial, type Turn } from '../trial.js';
import { copyOf, venueFor } from './places.js';
import type { Selection } from './selection.js';

/** All-reduce of one buffer through communicators, and by the peers. */
export function inProcess(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? geometricSizes(bytesPerElement, 64 * 2 ** 20, selection.isQuick ? 16 : 4);
  return [{ label: 'in-process', ranks, pieces: spans(sizes).map((span) => pieceOf(selection, ranks, span)) }];
}

// A peer starts once a piece and round: small pieces keep what is compared close together in time.
const spanLimits = [4 * 2 ** 10, 2 ** 20, 16 * 2 ** 20, Number.POSITIVE_INFINITY];

function spans(sizes: readonly number[]): number[][] {
  const limitOf = (bytes: number) => spanLimits.find((limit) => bytes <= limit);
  return spanLimits
    .map((limit) => sizes.filter((bytes) => limitOf(bytes) === limit))
    .filter(({ length }) => length > 0);
}

function pieceOf(selection: Selection, ranks: number, sizes: readonly number[]): Piece {
  const ours = sizes.flatMap((bytes) => [copyOf('in-process', ranks, bytes), ...turnsOf(selection, ranks, bytes)]);
  const trialOf = trialMaker(ranks);
  const theirs = selection.peers.map((peer): Turn => {
    const cases = sizes.flatMap((bytes) => inputKinds.map((input) => ({ bytes, input })));
    const trials = cases.map(({ bytes, input }) =>
      trialOf(bytes, { name: `${peer} ${input}`, engine: 'peer', peer, input }),
    );
    return { venue: peer, trials };
  });
  return [...ours, ...theirs];
}

function turnsOf({ algorithms = algorithmNames, engines }: Selection, ranks: number, bytes: number): Turn[] {
  const trialOf = trialMaker(ranks);
  return inputKinds.flatMap((input) =>
    engines.flatMap((engine) =>
      algorithms.map((algorithm): Turn => {
        const trial = trialOf(bytes, { name: `${algorithm} ${input}`, engine, algorithm, input });
        return { venue: venueFor(engine), trials: [trial] };
      }),
    ),
  );
}

type Variant = Pick<Trial, 'name' | 'engine' | 'algorithm' | 'peer' | 'input'>;

function trialMaker(ranks: number) {
  return (bytes: number, variant: Variant): Trial => ({
    suite: 'in-process',
    ...variant,
    work: { type: 'collective', kind: 'all-reduce' },
    ranks,
    counts: [bytes / bytesPerElement],
  });
}
