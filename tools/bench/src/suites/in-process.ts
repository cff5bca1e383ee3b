import { bytesPerElement, geometricSizes } from '../sizes.js';
import { inputKinds, type Piece, type Session, type Turn } from '../trial.js';
import type { Selection } from './selection.js';
import {
  fitsMemory,
  inputsFor,
  nameOf,
  type TrialStart,
  trialOf,
  variantsOf,
  venueFor,
  yardsticks,
} from './variants.js';

const suite = 'in-process';

/** All-reduce of one buffer through communicators, and by the peers. */
export function inProcess(selection: Selection, ranks: number): Session[] {
  return spansOf(sizesOf(selection)).map((sizes) => ({
    label: suite,
    ranks,
    pieces: [pieceOf(selection, ranks, sizes)],
  }));
}

/** The sizes of one buffer. Default: from 4 B to 256 MiB. */
export function sizesOf({ bytes, isQuick }: Selection): readonly number[] {
  return bytes ?? geometricSizes(bytesPerElement, 256 * 2 ** 20, isQuick ? 16 : 4);
}

/** Sizes that are measured with the same threads or processes. The memory of a span is freed before the next span begins. */
export function spansOf(sizes: readonly number[]): readonly (readonly number[])[] {
  const spans = spanLimits.map((limit, index) => {
    const above = spanLimits[index - 1] ?? 0;
    return sizes.filter((bytes) => bytes > above && bytes <= limit);
  });
  return spans.filter(({ length }) => length > 0);
}

// A peer starts once per piece and round: in small pieces, figures that are compared are measured within a short time.
const spanLimits = [4 * 2 ** 10, 64 * 2 ** 10, 2 ** 20, 16 * 2 ** 20, 64 * 2 ** 20, Number.POSITIVE_INFINITY];

/** An all-reduce of one buffer. */
export function allReduceOf(start: Omit<TrialStart, 'work' | 'counts' | 'ranks'>, ranks: number, bytes: number) {
  return trialOf({
    ...start,
    work: { type: 'collective', kind: 'all-reduce' },
    ranks,
    counts: [bytes / bytesPerElement],
  });
}

/** The all-reduces of other libraries, of buffers of these sizes. */
export function peerTurns(
  peerSuite: 'in-process' | 'processes',
  { peers, places, inputs = inputKinds }: Selection,
  ranks: number,
  sizes: readonly number[],
): Turn[] {
  return peers.map((peer) => {
    const trials = sizes.flatMap((bytes) =>
      places.flatMap((place) =>
        inputs.map((input) => {
          const name = nameOf(peer, input, place);
          return allReduceOf({ suite: peerSuite, name, engine: 'peer', peer, input, place }, ranks, bytes);
        }),
      ),
    );
    return { venue: peer, trials };
  });
}

function pieceOf(selection: Selection, ranks: number, sizes: readonly number[]): Piece {
  const ours = sizes.flatMap((bytes) => [
    ...yardsticks(suite, ranks, bytes, selection, selection.inputs ?? inputKinds),
    ...turnsOf(selection, ranks, bytes),
  ]);
  return [...ours, ...peerTurns(suite, selection, ranks, sizes)];
}

function turnsOf(selection: Selection, ranks: number, bytes: number): Turn[] {
  return variantsOf(selection).flatMap((variant) =>
    selection.places
      .filter((place) => fitsMemory(variant, place === 'in' ? bytes : 2 * bytes, ranks))
      .flatMap((place) =>
        inputsFor(variant.form, selection).map((input): Turn => {
          const name = nameOf(variant.algorithm, input, place);
          const trial = allReduceOf({ suite, name, ...variant, input, place }, ranks, bytes);
          return { venue: venueFor(variant.form), trials: [trial] };
        }),
      ),
  );
}
