import { reportStall } from '@coll/rendezvous';
import { stallSecondsFrom } from '@coll/rendezvous/internal';
import type { MemberConfig } from './member-config.js';
import type { StallListener } from './stall-watch.js';

/**
 * Makes a listener that reports a member's stalls to the launcher; undefined if no launcher reads
 * reports.
 */
export function stallListener({ rank, size }: MemberConfig): StallListener | undefined {
  const seconds = stallSecondsFrom();
  if (seconds === undefined) return undefined;
  // Reports name ranks by their number in the whole job, so a smaller group reports no missing
  // ranks.
  const { COLL_RANK, COLL_SIZE } = process.env;
  const isOfAll = Number(COLL_RANK) === rank && Number(COLL_SIZE) === size;
  return { seconds, tell: (stall) => reportStall(stall && { ...stall, missing: isOfAll ? stall.missing : [] }) };
}

/**
 * Reports to the launcher if opening a group takes too long.
 * @returns a function that ends the watch
 */
export function watchOpening(listener: StallListener | undefined): () => void {
  if (!listener) return () => {};
  const { seconds } = listener;
  let isTold = false;
  const timer = setTimeout(() => {
    isTold = true;
    reportStall({ operation: 'open a group', missing: [], seconds });
  }, seconds * 1000);
  return () => {
    clearTimeout(timer);
    if (isTold) reportStall(undefined);
  };
}
