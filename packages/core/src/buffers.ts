import { refusedArithmetic } from './arithmetic.js';
import { type Collective, nameOf, opOf, outputDType, outputLength, rootOf } from './collective.js';
import type { DType } from './dtype.js';
import { ValueError } from './errors.js';
import { overlaps, type Tensor, validateTensor } from './tensor.js';

/** Who hands in buffers for what. */
export interface BufferCheck {
  readonly collective: Collective;
  readonly size: number;
  readonly localRanks: readonly number[];
}

/** Why a collective cannot run in a group of that size, whatever the algorithm; undefined when it can. */
export function refusedCollective(collective: Collective, dtype: DType, size: number): string | undefined {
  const root = rootOf(collective);
  if (root !== undefined && !(Number.isInteger(root) && root >= 0 && root < size)) {
    return `root ${root} is not one of the ${size} ranks`;
  }
  return refusedArithmetic(opOf(collective), dtype);
}

/**
 * Checks what a communicator was handed before any byte moves: counts, memory, dtypes and lengths among the local ranks, and that
 * nobody's output is somebody else's buffer.
 * @throws ValueError, naming rank and operation
 */
export function validateBuffers(
  { collective, size, localRanks }: BufferCheck,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const operation = nameOf(collective);
  if (inputs.length !== localRanks.length || outputs.length !== localRanks.length) {
    const given = `${inputs.length} inputs and ${outputs.length} outputs`;
    throw new ValueError(
      'ERR_COLL_VALUE',
      `${operation}: ${given} for ${localRanks.length} local ranks; hand in one of each a rank`,
      { operation },
    );
  }
  const source = inputs[Math.max(0, localRanks.indexOf(rootOf(collective) ?? 0))] as Tensor;
  localRanks.forEach((rank, index) => {
    const [input, output] = [inputs[index] as Tensor, outputs[index] as Tensor];
    const fail = (problem: string) =>
      new ValueError('ERR_COLL_BUFFER', `${operation}: rank ${rank}: ${problem}`, { operation, rank });
    validateTensor(input);
    validateTensor(output);
    if (collective.kind !== 'broadcast') {
      if (input.dtype !== source.dtype) throw fail(`input is ${input.dtype}, others are ${source.dtype}`);
      if (input.data.length !== source.data.length)
        throw fail(`input has ${input.data.length} elements, others ${source.data.length}`);
    }
    if (collective.kind === 'reduce-scatter' && input.data.length % size !== 0) {
      throw fail(`input of ${input.data.length} elements does not divide among ${size} ranks`);
    }
    if (collective.kind === 'reduce' && collective.root !== rank) return;
    const length = outputLength(collective, sourceLength(collective, source, output), size);
    const dtype = outputDType(collective, sourceDType(collective, source, output));
    if (output.dtype !== dtype) throw fail(`output is ${output.dtype}, must be ${dtype}`);
    if (output.data.length !== length) throw fail(`output has ${output.data.length} elements, must have ${length}`);
  });
  refuseSharedOutputs(collective, localRanks, inputs, outputs);
}

// Only the root of a broadcast knows the input; where it is not local, an output stands for it.
function sourceLength(collective: Collective, source: Tensor, output: Tensor): number {
  return collective.kind === 'broadcast' ? output.data.length : source.data.length;
}

function sourceDType(collective: Collective, source: Tensor, output: Tensor): DType {
  return collective.kind === 'broadcast' ? output.dtype : source.dtype;
}

function refuseSharedOutputs(
  collective: Collective,
  localRanks: readonly number[],
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const operation = nameOf(collective);
  const root = rootOf(collective);
  localRanks.forEach((rank, index) => {
    if (collective.kind === 'reduce' && rank !== root) return;
    const output = outputs[index] as Tensor;
    const clash = localRanks.findIndex((other, position) => {
      if (position === index) return false;
      const reads = collective.kind === 'broadcast' ? other === root : true;
      const writes = collective.kind !== 'reduce';
      return (
        (reads && overlaps(output.data, (inputs[position] as Tensor).data)) ||
        (writes && overlaps(output.data, (outputs[position] as Tensor).data))
      );
    });
    if (clash < 0) return;
    throw new ValueError(
      'ERR_COLL_BUFFER',
      `${operation}: one buffer was given twice: the output of rank ${rank} overlaps memory of rank ${localRanks[clash]}`,
      {
        operation,
        rank,
      },
    );
  });
}
