import { type Collective, type DType, dtypes, type Schedule } from '@coll/core';
import { collectiveKinds, collectiveOps, opOf, rootOf, stepsOf } from '@coll/core/plugin';

/**
 * Encodes a schedule as integers, round by round, in the format that `parse_message_program` in C++
 * reads.
 */
export function messageWords({ ranks, chunks, rounds }: Schedule, collective: Collective, dtype: DType): Int32Array {
  const op = opOf(collective) ?? 'sum';
  const head = [collectiveKinds.indexOf(collective.kind), collectiveOps.indexOf(op), dtypes.indexOf(dtype)];
  const rest = rounds.flatMap((round) => {
    const steps = stepsOf(round);
    return [steps.length, ...steps.flatMap(({ chunk, to, operands }) => [chunk, to, operands.length, ...operands])];
  });
  return Int32Array.from([...head, ranks, rootOf(collective) ?? 0, chunks, rounds.length, ...rest]);
}
