import type { StallListener } from '@coll/native';
import { reportStall, type Stall, type Store, stallSecondsFrom } from '@coll/rendezvous';
import { type Member, storeOf } from './member.js';
import type { OpenProcessGroupOptions } from './options.js';

/** Reports to the launcher what a member waits for; undefined where nobody reads that. */
export function stallListener(options: OpenProcessGroupOptions, member: Member): StallListener | undefined {
  const seconds = stallSecondsFrom();
  if (seconds === undefined) return undefined;
  let last = Promise.resolve();
  const tell = (stall: Stall | undefined) => {
    // In order; a report is a courtesy, and its failure nobody's concern.
    last = last.then(() => report(options, member, stall)).catch(() => {});
  };
  return { seconds, tell };
}

/** The same for the opening itself. @returns what ends the watch */
export function watchOpening(store: Store, { generation, rank }: Member): () => void {
  const seconds = stallSecondsFrom();
  if (seconds === undefined) return () => {};
  let isTold = false;
  const timer = setTimeout(() => {
    isTold = true;
    const stall = { operation: 'open a group', missing: [], seconds };
    reportStall(store, { generation, rank }, stall).catch(() => {});
  }, seconds * 1000);
  return () => {
    clearTimeout(timer);
    if (isTold) reportStall(store, { generation, rank }, undefined).catch(() => {});
  };
}

// A connection that stayed open would keep the process from ending.
async function report(options: OpenProcessGroupOptions, member: Member, stall: Stall | undefined): Promise<void> {
  const { store, isOwn } = await storeOf(options, member);
  try {
    await reportStall(store, { generation: member.generation, rank: member.rank }, stall);
  } finally {
    if (isOwn) await store.close();
  }
}
