import { bytesPerElement } from '../sizes.js';
import type { Piece, Session, Trial, Turn } from '../trial.js';
import { playersOf, yardsticks } from './players.js';
import type { Selection } from './selection.js';

const suite = 'runs';

/** What a step costs: `strategy.run` of replicas that do nothing, back to back, with a number or a batch of that size for each replica. */
export function runs(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? [bytesPerElement, 2 ** 20];
  return [{ label: suite, ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  // Neither the engine nor the algorithm plays a part in it.
  const [engine] = selection.engines;
  const algorithms = selection.algorithms.slice(0, 1);
  const forms = (selection.forms ?? ['async', 'controller']).filter((form) => form !== 'sync');
  const players = engine === undefined ? [] : playersOf({ ...selection, engines: [engine], algorithms, forms });
  const turns = players.map((player): Turn => {
    const trial: Trial = {
      ...player,
      suite,
      name: player.form === 'controller' ? 'run of a function' : 'run of a module',
      work: { type: 'run' },
      input: 'still',
      place: 'in',
      ranks,
      counts: [bytes / bytesPerElement],
    };
    return { venue: 'main-thread', trials: [trial] };
  });
  return [...yardsticks(suite, ranks, bytes, { ...selection, inputs: ['still'] }), ...turns];
}
