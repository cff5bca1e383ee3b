import { collectiveKinds } from '@coll/core/plugin';
import { bytesPerElement } from '../sizes.js';
import type { Piece, Session, Trial, Turn } from '../trial.js';
import { playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';

const kinds = collectiveKinds.filter((kind) => kind !== 'all-reduce');

/** The collectives other than all-reduce, through communicators. */
export function collectives(selection: Selection, ranks: number): Session[] {
  const defaults = selection.isQuick ? [65_536, 4 * 2 ** 20] : [1024, 65_536, 2 ** 20, 16 * 2 ** 20];
  const sizes = [...new Set((selection.bytes ?? defaults).map((bytes) => divisible(bytes, ranks)))];
  return [{ label: 'collectives', ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

/** The size itself, or the one below it that gives each rank as many elements; at least one each. */
function divisible(bytes: number, ranks: number): number {
  const block = ranks * bytesPerElement;
  return Math.max(1, Math.floor(bytes / block)) * block;
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  const turns = kinds.flatMap((kind) =>
    playersOf(selection).map((player): Turn => {
      const trial: Trial = {
        ...player,
        suite: 'collectives',
        name: `${kind} ${player.algorithm}`,
        work: { type: 'collective', kind },
        input: 'still',
        place: 'in',
        ranks,
        counts: [bytes / bytesPerElement],
      };
      return { venue: venueFor(player.form), trials: [trial] };
    }),
  );
  // The update of all ranks' memory bounds all-reduce alone.
  return [...yardsticks('collectives', ranks, bytes, { ...selection, hasBound: false }), ...turns];
}
