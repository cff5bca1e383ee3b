import { peersOver, type Transport } from '../peers/peers.js';
import { inputKinds, memoriesOver, type Piece, type Session, type Trial, type Turn } from '../trial.js';
import { allReduceOf, peerTurns, sizesOf, spansOf } from './in-process.js';
import type { Selection } from './selection.js';
import { inputsFor, nameOf, variantsOf, yardsticks } from './variants.js';

const suite = 'processes';

/**
 * All-reduce of one buffer between processes, on ordinary arrays. Processes that share memory are also measured on group memory, beside
 * the same all-reduce between threads. Peers are measured over the same transport.
 */
export function processes(selection: Selection, ranks: number): Session[] {
  return selection.transports.flatMap((transport) =>
    spansOf(sizesOf(selection)).map((sizes) => ({
      label: `processes over ${transport}`,
      ranks,
      pieces: [pieceOf(selection, ranks, transport, sizes)],
    })),
  );
}

function pieceOf(selection: Selection, ranks: number, transport: Transport, sizes: readonly number[]): Piece {
  const ours = sizes.flatMap((bytes) => [
    ...yardsticks(suite, ranks, bytes, selection, selection.inputs ?? inputKinds),
    ...turnsOf(selection, ranks, transport, bytes),
  ]);
  const peers = selection.peers.filter((peer) => peersOver[transport].includes(peer));
  return [...ours, ...peerTurns(suite, { ...selection, peers }, ranks, sizes)];
}

function turnsOf(selection: Selection, ranks: number, transport: Transport, bytes: number): Turn[] {
  const variants = variantsOf({ ...selection, forms: selection.forms ?? ['sync', 'async'] }).filter(
    ({ engine, form }) => engine === 'native' && form !== 'controller',
  );
  return variants.flatMap((variant) =>
    selection.places.flatMap((place) =>
      inputsFor(variant.form, selection).flatMap((input): Turn[] => {
        const turn = (first: string, venue: Turn['venue'], more: Partial<Trial>): Turn => {
          const name = nameOf(`${variant.algorithm} ${first}`, input, place);
          return { venue, trials: [allReduceOf({ suite, name, ...variant, ...more, input, place }, ranks, bytes)] };
        };
        const own = memoriesOver[transport].map((memory) => turn(memory, 'rank-processes', { transport, memory }));
        return transport === 'shared-memory' ? [turn('threads', 'rank-threads', {}), ...own] : own;
      }),
    ),
  );
}
