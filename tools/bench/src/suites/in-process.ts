import { bytesPerElement, geometricSizes } from '../sizes.js';
import { inputKinds, type Piece, type Session, type Trial, type Turn } from '../trial.js';
import { fitsMemory, inputsFor, nameOf, playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/** All-reduce of one buffer through communicators, and by the peers. */
export function inProcess(selection: Selection, ranks: number): Session[] {
  return spansOf(sizesOf(selection)).map((span) => ({
    label: 'in-process',
    ranks,
    pieces: [pieceOf(selection, ranks, span)],
  }));
}

/** Sizes of one buffer, from 4 B to 256 MiB where nothing else is asked for. */
export function sizesOf({ bytes, isQuick }: Selection): readonly number[] {
  return bytes ?? geometricSizes(bytesPerElement, 256 * 2 ** 20, isQuick ? 16 : 4);
}

/**
 * Sizes that are measured with the same threads or processes: their memory is given back before that of the next ones is taken.
 */
export function spansOf(sizes: readonly number[]): readonly (readonly number[])[] {
  const spans = spanLimits.map((limit, index) => {
    const above = spanLimits[index - 1] ?? 0;
    return sizes.filter((bytes) => bytes > above && bytes <= limit);
  });
  return spans.filter(({ length }) => length > 0);
}

// A peer starts once a piece and round: small pieces keep what is compared close together in time.
const spanLimits = [4 * 2 ** 10, 64 * 2 ** 10, 2 ** 20, 16 * 2 ** 20, 64 * 2 ** 20, Number.POSITIVE_INFINITY];

function pieceOf(selection: Selection, ranks: number, sizes: readonly number[]): Piece {
  const ours = sizes.flatMap((bytes) => [
    ...yardsticks('in-process', ranks, bytes, selection),
    ...turnsOf(selection, ranks, bytes),
  ]);
  const trialOf = trialMaker(ranks);
  const theirs = selection.peers.map((peer): Turn => {
    const trials = sizes.flatMap((bytes) =>
      selection.places.flatMap((place) =>
        (selection.inputs ?? inputKinds).map((input) =>
          trialOf(bytes, { name: nameOf(peer, input, place), engine: 'peer', peer, input, place }),
        ),
      ),
    );
    return { venue: peer, trials };
  });
  return [...ours, ...theirs];
}

function turnsOf(selection: Selection, ranks: number, bytes: number): Turn[] {
  const trialOf = trialMaker(ranks);
  return playersOf(selection).flatMap((player) =>
    selection.places
      .filter((place) => fitsMemory(player, place === 'in' ? bytes : 2 * bytes, ranks))
      .flatMap((place) =>
        inputsFor(player.form, selection).map((input): Turn => {
          const name = nameOf(player.algorithm, input, place);
          return { venue: venueFor(player.form), trials: [trialOf(bytes, { name, ...player, input, place })] };
        }),
      ),
  );
}

type Variant = Pick<Trial, 'name' | 'engine' | 'form' | 'algorithm' | 'peer' | 'input' | 'place'>;

function trialMaker(ranks: number) {
  return (bytes: number, variant: Variant): Trial => ({
    suite: 'in-process',
    ...variant,
    work: { type: 'collective', kind: 'all-reduce' },
    ranks,
    counts: [bytes / bytesPerElement],
  });
}
