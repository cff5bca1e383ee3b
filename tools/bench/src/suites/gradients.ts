import { type GradientSet, gradientLengths } from '../gradients.js';
import { bytesPerElement } from '../sizes.js';
import type { Piece, Session, Trial, Turn, Work } from '../trial.js';
import { fitsMemory, networksOf, playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/** The gradients of whole networks, as one buffer and as the tensors that they are: by us in one call, by peers one after the other. */
export function gradients(selection: Selection, ranks: number): Session[] {
  return networksOf(selection).map((set) => ({
    label: `gradients of ${set}`,
    ranks,
    pieces: [pieceOf(selection, ranks, set)],
  }));
}

/** A way to hand over gradients. */
interface Way {
  readonly name: string;
  readonly work: Work;
  readonly isFused: boolean;
}

const fused: Way = { name: 'fused', work: { type: 'collective', kind: 'all-reduce' }, isFused: true };
/** Through cross-device ops, as a strategy's replicas do. */
const perTensor: Way = { name: 'per tensor', work: { type: 'batch', bytesPerPack: 0 }, isFused: false };
/** Through the communicator below them, in memory that its engine uses without a copy. */
const pieces: Way = { name: 'pieces', work: { type: 'pieces' }, isFused: false };

function pieceOf(selection: Selection, ranks: number, set: GradientSet): Piece {
  const lengths = gradientLengths(set);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const bytes = total * bytesPerElement;
  const trialOf = (
    { name, work, isFused }: Way,
    variant: Pick<Trial, 'engine' | 'form' | 'algorithm' | 'peer'>,
  ): Trial => ({
    ...variant,
    suite: 'gradients',
    name: `${set} ${name}`,
    work,
    gradients: set,
    input: 'still',
    place: 'in',
    ranks,
    counts: isFused ? [total] : lengths,
  });
  const ours = playersOf(selection)
    .filter((player) => fitsMemory(player, bytes, ranks))
    .flatMap((player) => {
      // A group's memory holds them beside those that are fused. The reference takes no pieces.
      const hasPieces =
        fitsMemory(player, 2 * bytes, ranks) && !(player.engine === 'js' && player.form === 'controller');
      return (hasPieces ? [fused, perTensor, pieces] : [fused, perTensor]).map(
        (way): Turn => ({ venue: venueFor(player.form), trials: [trialOf(way, player)] }),
      );
    });
  const theirs = selection.peers.map(
    (peer): Turn => ({
      venue: peer,
      trials: [fused, perTensor].map((way) => trialOf({ ...way, work: fused.work }, { engine: 'peer', peer })),
    }),
  );
  return [...yardsticks('gradients', ranks, bytes, { ...selection, inputs: ['still'] }), ...ours, ...theirs];
}
