import { peersOver, type Transport } from '../peers/peers.js';
import { bytesPerElement } from '../sizes.js';
import { memoriesOver, type Piece, type Session, type Trial, type Turn } from '../trial.js';
import { sizesOf, spansOf } from './in-process.js';
import { inputsFor, nameOf, playersOf, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/**
 * All-reduce of one buffer among processes, on ordinary arrays; where they share memory, also on that, and beside it the same among
 * threads; and peers that exchange data in the same way.
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
    ...yardsticks('processes', ranks, bytes, selection),
    ...turnsOf(selection, ranks, transport, bytes),
  ]);
  const peers = selection.peers.filter((peer) => peersOver[transport].includes(peer));
  const theirs = peers.map((peer): Turn => {
    const trials = sizes.flatMap((bytes) =>
      selection.places.flatMap((place) =>
        inputsFor('sync', selection).map((input) =>
          trialOf(ranks, bytes, { name: nameOf(peer, input, place), engine: 'peer', peer, input, place }),
        ),
      ),
    );
    return { venue: peer, trials };
  });
  return [...ours, ...theirs];
}

function turnsOf(selection: Selection, ranks: number, transport: Transport, bytes: number): Turn[] {
  const players = playersOf({ ...selection, forms: selection.forms ?? ['sync', 'async'] }).filter(
    ({ engine, form }) => engine === 'native' && form !== 'controller',
  );
  return players.flatMap((player) =>
    selection.places.flatMap((place) =>
      inputsFor(player.form, selection).flatMap((input): Turn[] => {
        const turn = (first: string, venue: Turn['venue'], more: Partial<Trial>): Turn => {
          const name = nameOf(`${player.algorithm} ${first}`, input, place);
          return { venue, trials: [trialOf(ranks, bytes, { name, ...player, ...more, input, place })] };
        };
        const among = memoriesOver[transport].map((memory) => turn(memory, 'rank-processes', { transport, memory }));
        return transport === 'shared-memory' ? [turn('threads', 'rank-threads', {}), ...among] : among;
      }),
    ),
  );
}

function trialOf(
  ranks: number,
  bytes: number,
  variant: Pick<Trial, 'name' | 'engine' | 'input' | 'place'> & Partial<Trial>,
): Trial {
  return {
    suite: 'processes',
    work: { type: 'collective', kind: 'all-reduce' },
    ranks,
    counts: [bytes / bytesPerElement],
    ...variant,
  };
}
