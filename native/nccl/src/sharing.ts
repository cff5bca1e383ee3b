import { type Tensor, ValueError } from '@coll/core';
import { reads, writes } from '@coll/core/plugin';
import { type ByteRange, byteRangeOf } from './operands.js';
import type { Passage } from './passage.js';

interface Use extends ByteRange {
  readonly passage: Passage;
  readonly writes: boolean;
}

/**
 * @throws ValueError if a collective of a group call uses memory that another collective of the
 * call writes, because NCCL executes them at the same time
 */
export function refuseSharing(operation: string, localRanks: readonly number[], passages: readonly Passage[]): void {
  const byMemory = new Map<object, Use[]>();
  for (const use of passages.flatMap((passage) => usesOf(passage, localRanks))) {
    const known = byMemory.get(use.memory);
    if (known) known.push(use);
    else byMemory.set(use.memory, [use]);
  }
  if (![...byMemory.values()].some(haveClash)) return;
  const message = 'two collectives of one group call run at the same time, but share memory that one of them writes';
  throw new ValueError('ERR_COLL_BUFFER', `${operation}: ${message}: make two separate calls`, { operation });
}

function usesOf(passage: Passage, localRanks: readonly number[]): Use[] {
  const { collective, inputs, outputs } = passage;
  return localRanks.flatMap((rank, index) => {
    const uses: Use[] = [];
    if (reads(collective, rank)) uses.push({ ...byteRangeOf(inputs[index] as Tensor), passage, writes: false });
    if (writes(collective, rank)) uses.push({ ...byteRangeOf(outputs[index] as Tensor), passage, writes: true });
    return uses.filter(({ begin, end }) => begin < end);
  });
}

/**
 * Whether two collectives share bytes that one of them writes. Sorts the uses of memory by their
 * first byte; a use can then overlap only earlier uses that have not ended.
 */
function haveClash(uses: Use[]): boolean {
  uses.sort((a, b) => a.begin - b.begin);
  let open: Use[] = [];
  return uses.some((use) => {
    open = open.filter(({ end }) => end > use.begin);
    const isShared = open.some(({ passage, writes }) => passage !== use.passage && (writes || use.writes));
    open.push(use);
    return isShared;
  });
}
