/**
 * The memory of one piece of a rank's buffer that the rank reads or writes, as a range of bytes.
 */
export interface UsedRange {
  readonly begin: number;
  readonly end: number;
  readonly rank: number;
  readonly piece: number;
  readonly isWritten: boolean;
}

/**
 * Finds two ranks, one of which writes memory that the other one uses. All `stretches` (ranges of
 * used bytes) lie in one ArrayBuffer. In-place reductions of a piece are allowed and, if
 * `isShared`, one output for all ranks.
 */
export function clashAmong(
  stretches: readonly UsedRange[],
  isShared: boolean,
): readonly [rank: number, other: number] | undefined {
  const sorted = stretches.filter(({ begin, end }) => begin < end).sort((a, b) => a.begin - b.begin);
  let open: UsedRange[] = [];
  for (const next of sorted) {
    open = open.filter(({ end }) => end > next.begin);
    const other = open.find((before) => !mayMeet(before, next, isShared));
    if (other) return next.isWritten ? [next.rank, other.rank] : [other.rank, next.rank];
    open.push(next);
  }
  return undefined;
}

function mayMeet(one: UsedRange, other: UsedRange, isShared: boolean): boolean {
  if (!one.isWritten && !other.isWritten) return true;
  if (one.piece !== other.piece || one.begin !== other.begin) return false;
  return one.isWritten === other.isWritten ? isShared && one.rank !== other.rank : one.rank === other.rank;
}
