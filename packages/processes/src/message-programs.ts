import { type Collective, type DType, dtypes, type Schedule } from '@coll/core';
import { collectiveKinds, collectiveOps, opOf, rootOf, stepsOf } from '@coll/core/plugin';
import type { PrepareMessages } from '@coll/native/addon';
import type { MessagesHandle, ProcessBinding } from './process-binding.js';

/**
 * Encodes a schedule as integers, round by round, in the format that `parse_message_program` in C++
 * reads.
 */
export function messageWords({ ranks, chunks, rounds }: Schedule, collective: Collective, dtype: DType): Int32Array {
  const op = opOf(collective) ?? 'sum';
  const words = [collectiveKinds.indexOf(collective.kind), collectiveOps.indexOf(op), dtypes.indexOf(dtype)];
  words.push(ranks, rootOf(collective) ?? 0, chunks, rounds.length);
  for (const round of rounds) {
    const steps = stepsOf(round);
    words.push(steps.length);
    for (const { chunk, to, operands } of steps) {
      words.push(chunk, to, operands.length);
      for (const rank of operands) words.push(rank);
    }
  }
  return Int32Array.from(words);
}

/** The index, among these words, of the dtype. */
const dtypeAt = 2;

/** Prepares schedules for execution by messages from and to this rank. */
export function prepareMessages(binding: ProcessBinding, rank: number): PrepareMessages<MessagesHandle> {
  return (schedule, collective) => {
    const words = messageWords(schedule, collective, 'float32');
    return (dtype) => {
      words[dtypeAt] = dtypes.indexOf(dtype);
      return binding.messageProgram(words, rank);
    };
  };
}
