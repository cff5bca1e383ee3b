import { bytesPerElement } from '../sizes.js';
import type { Session, Turn } from '../trial.js';
import { playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/** Whether timers still tick in a thread that awaits large all-reduces, one after the other. */
export function eventLoop(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? [(selection.isQuick ? 16 : 256) * 2 ** 20];
  const waiting = playersOf(selection).filter(({ form }) => form !== 'sync');
  const pieces = sizes.map((bytes) => [
    ...yardsticks('event-loop', ranks, bytes, { ...selection, inputs: ['still'] }),
    ...waiting.map((player): Turn => {
      const trial = {
        ...player,
        suite: 'event-loop',
        name: `timers ${player.algorithm}`,
        work: { type: 'ticking' },
        input: 'still',
        place: 'in',
        ranks,
        counts: [bytes / bytesPerElement],
      } as const;
      return { venue: venueFor(player.form), trials: [trial] };
    }),
  ]);
  return waiting.length === 0 ? [] : [{ label: 'event-loop', ranks, pieces }];
}
