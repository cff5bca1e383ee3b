import { describe, expect, it } from 'vitest';
import { busy, failed, four, now, peerFailed, recordedRank, waiting } from '../../test/recorded-ranks.js';
import { findVerdict } from './find-verdict.js';
import type { RecordedPart } from './record-file.js';

describe('messages', () => {
  const send = (peer: number) => ({ calls: [waiting(12, { verb: 'send', op: undefined, peer, number: 0 })] });
  const receive = (peer: number) => ({ calls: [waiting(12, { verb: 'receive', op: undefined, peer, number: 0 })] });

  it('name two ranks that both send first', () => {
    const { kind, ranks, sentence } = findVerdict(four({ 0: { calls: [] }, 1: send(2), 2: send(1), 3: { calls: [] } }));
    expect({ kind, ranks }).toEqual({ kind: 'cycle', ranks: [1, 2] });
    expect(sentence).toContain('each of them sends before it receives');
  });

  it('name all ranks of a longer cycle', () => {
    const { kind, ranks } = findVerdict(four({ 0: send(1), 1: send(2), 2: send(3), 3: send(0) }));
    expect({ kind, ranks }).toEqual({ kind: 'cycle', ranks: [0, 1, 2, 3] });
  });

  it('name two ranks that both send first, if they have failed by their deadline', () => {
    const deadline = (peer: number, seconds: number) => ({
      calls: [failed(seconds, 5, { verb: 'send', op: undefined, peer, number: 0 })],
      notes: [{ kind: 'failure', rank: 1, text: 'ERR_COLL_DEADLINE: send', time: now - 1e6 * seconds }] as const,
    });
    const { kind, ranks } = findVerdict(
      four({ 0: { calls: [] }, 1: deadline(2, 2), 2: deadline(1, 1.9), 3: { calls: [] } }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'cycle', ranks: [1, 2] });
  });

  it('name a rank that does not send', () => {
    const { kind, ranks, sentence } = findVerdict(
      four({ 0: receive(3), 1: { calls: [] }, 2: { calls: [] }, 3: { calls: [] } }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'absent', ranks: [3] });
    expect(sentence).toMatch(/^rank 3 never sent message 0 to rank 0 .* in which rank 0 has waited for 12 s/);
  });

  it('name no one while a message is on its way', () => {
    const { kind, ranks } = findVerdict(four({ 0: receive(3), 1: { calls: [] }, 2: { calls: [] }, 3: send(0) }));
    expect({ kind, ranks }).toEqual({ kind: 'unknown', ranks: [] });
  });
});

describe('missing records', () => {
  it('keep the cause unknown', () => {
    const { kind, ranks, missing, sentence } = findVerdict(four({ 2: undefined }));
    expect({ kind, ranks, missing }).toEqual({ kind: 'unknown', ranks: [], missing: [2] });
    expect(sentence).toContain('whose record is missing: 2');
  });

  it('keep the cause unknown if the others have failed because of the rank', () => {
    const { kind, ranks } = findVerdict(four({ 0: peerFailed(2), 1: peerFailed(2), 2: undefined, 3: peerFailed(2) }));
    expect({ kind, ranks }).toEqual({ kind: 'unknown', ranks: [] });
  });

  it('do not hide a rank that is known to be busy', () => {
    const { kind, ranks } = findVerdict(four({ 1: busy(40), 2: undefined }));
    expect({ kind, ranks }).toEqual({ kind: 'busy', ranks: [1] });
  });

  it('keep the cause unknown if all known ranks are in the call', () => {
    const { kind, ranks, sentence } = findVerdict(four({}));
    expect({ kind, ranks }).toEqual({ kind: 'unknown', ranks: [] });
    expect(sentence).toContain('all-reduce 10');
  });
});

describe('a group that a later one has replaced', () => {
  it('is not what the verdict is about', () => {
    const old = peerFailed(3, 50);
    const replaced = (rank: number) => {
      const later = { group: 'later', size: 3, rank, wholeRank: rank, opened: now - 40e6 };
      const [own] = recordedRank({ rank, size: 4 }).record.parts as [RecordedPart];
      return recordedRank({ rank, size: 4, ...old, otherParts: [{ ...own, ...later }] });
    };
    const { kind } = findVerdict([replaced(0), replaced(1), replaced(2)]);
    expect(kind).toBe('healthy');
  });
});

describe('a group that does not open', () => {
  const opening = (rank: number) => {
    const note = {
      kind: 'opening',
      text: `rank ${rank} of 3, job "job", generation 0`,
      part: undefined,
      time: now - 20e6,
    } as const;
    const seen = recordedRank({ rank, size: 3 });
    return { ...seen, record: { ...seen.record, parts: [], notes: [{ ...note, rank: undefined, call: undefined }] } };
  };

  it('names the ranks that have not come if their threads are known', () => {
    const seen = opening(2);
    const other = { ...seen, record: { ...seen.record, notes: [] } };
    const { kind, ranks, waiting: who, seconds } = findVerdict([opening(0), opening(1), other]);
    expect({ kind, ranks, who, seconds }).toEqual({ kind: 'absent', ranks: [2], who: [0, 1], seconds: 20 });
  });

  it('names none if their records may be elsewhere', () => {
    const { kind, ranks, missing, sentence } = findVerdict([opening(0), opening(1)]);
    expect({ kind, ranks, missing }).toEqual({ kind: 'unknown', ranks: [], missing: [2] });
    expect(sentence).toContain('have waited for 20 s to open a group of 3 ranks');
  });
});
