import { type GradientSet, gradientBytes, gradientLengths } from '../gradients.js';
import type { Piece, Session, Trial, Turn, Work } from '../trial.js';
import type { Selection } from './selection.js';
import { fitsMemory, sessionsOfNetworks, trialOf, variantsOf, venueFor, yardsticks } from './variants.js';

const suite = 'gradients';

/** The gradients of networks, as one buffer and as separate tensors. coll reduces the tensors in one call, peers one after the other. */
export function gradients(selection: Selection, ranks: number): Session[] {
  return sessionsOfNetworks(suite, selection, ranks, (set) => pieceOf(selection, ranks, set));
}

/** A way to pass gradients. */
interface Way {
  readonly name: string;
  readonly work: Work;
}

const fused: Way = { name: 'fused', work: { type: 'collective', kind: 'all-reduce' } };
/** Through cross-device ops, as the replicas of a strategy do. */
const perTensor: Way = { name: 'per tensor', work: { type: 'batch', bytesPerPack: 0 } };
/** Through the communicator below the ops, in memory that its engine uses without a copy. */
const pieces: Way = { name: 'pieces', work: { type: 'pieces' } };

function pieceOf(selection: Selection, ranks: number, set: GradientSet): Piece {
  const lengths = gradientLengths(set);
  const bytes = gradientBytes(set);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const trialFor = ({ name, work }: Way, subject: Pick<Trial, 'engine' | 'form' | 'algorithm' | 'peer'>) => {
    const counts = name === 'fused' ? [total] : lengths;
    return trialOf({ ...subject, suite, name: `${set} ${name}`, work, gradients: set, ranks, counts });
  };
  const ours = variantsOf(selection)
    .filter((variant) => fitsMemory(variant, bytes, ranks))
    .flatMap((variant) => {
      // Group memory holds the pieces beside the fused buffer. The JavaScript engine of one thread does not execute pieces.
      const hasPieces =
        fitsMemory(variant, 2 * bytes, ranks) && !(variant.engine === 'js' && variant.form === 'controller');
      return (hasPieces ? [fused, perTensor, pieces] : [fused, perTensor]).map(
        (way): Turn => ({ venue: venueFor(variant.form), trials: [trialFor(way, variant)] }),
      );
    });
  const theirs = selection.peers.map((peer): Turn => {
    const ways = [fused, { ...perTensor, work: fused.work }];
    return { venue: peer, trials: ways.map((way) => trialFor(way, { engine: 'peer', peer })) };
  });
  return [...yardsticks(suite, ranks, bytes, selection), ...ours, ...theirs];
}
