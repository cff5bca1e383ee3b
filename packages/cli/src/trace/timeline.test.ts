import { describe, expect, it } from 'vitest';
import { now, recordedRank, waiting } from '../../test/recorded-ranks.js';
import { type TraceEvent, timelineOf } from './timeline.js';

const at = (begun: number, ended: number) => ({ begun, ended });
const slices = (events: readonly TraceEvent[]) => events.filter(({ ph }) => ph === 'X');

describe('the timeline of a job', () => {
  it('has a process per process, a track per thread, a slice per call and a mark per note', () => {
    const notes = [{ kind: 'stall', text: 'rank 1 has not arrived', time: 12e6 }] as const;
    const events = [
      ...timelineOf([
        recordedRank({
          rank: 0,
          size: 2,
          calls: [at(10e6, 11e6), { ...at(11e6, 11.5e6), verb: 'send', peer: 1 }],
          notes,
        }),
        recordedRank({ rank: 1, size: 2, calls: [at(10.5e6, 11e6)] }),
      ]),
    ];
    expect(events.filter(({ name }) => name === 'process_name').map(({ pid }) => pid)).toEqual([1, 2]);
    expect(events.filter(({ name }) => name === 'thread_name').map(({ args }) => args)).toEqual([
      { name: 'rank 0, main' },
      { name: 'rank 1, main' },
    ]);
    expect(slices(events)).toMatchObject([
      {
        name: 'all-reduce',
        pid: 1,
        ts: 9e6,
        dur: 1e6,
        args: { number: 0, op: 'sum', algorithm: 'ring', bytes: 16_384 },
      },
      { name: 'send to 1', pid: 1, ts: 10e6, dur: 0.5e6, args: { peer: 1 } },
      { name: 'all-reduce', pid: 2, ts: 9.5e6 },
    ]);
    expect(events.filter(({ ph }) => ph === 'i')).toMatchObject([{ name: 'stall', ts: 11e6, s: 't' }]);
  });

  it('puts calls at the same time on tracks of their own', () => {
    const calls = [at(10e6, 14e6), at(11e6, 15e6), at(14e6, 16e6), at(14.5e6, 20e6)];
    const events = [...timelineOf([recordedRank({ rank: 0, size: 2, calls })])];
    expect(slices(events).map(({ tid }) => tid)).toEqual([1, 2, 1, 3]);
    expect(events.filter(({ name }) => name === 'thread_name')).toHaveLength(3);
  });

  it('shows a call that waits until the record was read, and hosts on one clock', () => {
    const seen = recordedRank({ rank: 0, size: 2, calls: [waiting(5)], offset: 1000, seenUntil: now + 1000 });
    expect(slices([...timelineOf([seen])])).toMatchObject([{ dur: 5e6, args: { state: 'running' } }]);
    const other = recordedRank({ rank: 1, size: 2, calls: [at(10e6, 11e6)], offset: 250 });
    const reference = recordedRank({ rank: 0, size: 2, calls: [at(10e6, 11e6)] });
    expect(slices([...timelineOf([reference, other])]).map(({ ts }) => ts)).toEqual([9e6, 9e6 + 250]);
  });
});
