import { recordBytes, recordLayout } from '@coll/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recordedMemory } from '../../test/recorded-memory.js';
import { alignClocks } from './clocks.js';
import { findVerdict } from './find-verdict.js';
import { jobsOf } from './jobs.js';
import { namingOf } from './naming.js';
import { observe } from './observe.js';
import { summarize, tableOf } from './rank-table.js';
import { parseRecord, type ThreadRecord } from './record-file.js';
import { timelineOf } from './timeline.js';
import { waitGraph } from './wait-graph.js';

const { header } = recordLayout;
const parse = (bytes: Uint8Array, options = {}) => parseRecord(bytes, { file: 'a.coll', readAt: 1e12, ...options });
const record = (bytes: Uint8Array, options = {}) => parse(bytes, options) as ThreadRecord;

describe('the record of a thread', () => {
  it('is read with its calls, notes and groups', () => {
    const { host, job, end, calls, callsMade, notes, parts, dropped } = record(recordedMemory());
    expect({ host, job, end, callsMade, dropped }).toEqual({
      ...{ host: 'host-a', job: 'digits', end: 'open', callsMade: 3, dropped: 0 },
    });
    expect(parts).toMatchObject([{ group: 'group-1', size: 2, rank: 0, algorithm: 'ring' }, { algorithm: '' }]);
    expect(calls).toHaveLength(3);
    expect(calls[2]).toMatchObject({
      ...{ number: 2, verb: 'all-reduce', op: 'sum', dtype: 'float32', purpose: 'itself', state: 'done', bytes: 4096 },
      ...{ peer: undefined, waitedFor: undefined, part: { group: 'group-1' } },
    });
    expect(notes).toMatchObject([{ kind: 'stall', rank: undefined, part: { group: 'group-1' } }]);
  });

  it('contains a call that waits', () => {
    const { calls } = record(recordedMemory({ isWaiting: true }));
    expect(calls.at(-1)).toMatchObject({ number: 3, state: 'running', ended: 0 });
  });

  it('contains the latest calls after many', () => {
    const { calls, callsMade } = record(recordedMemory({ calls: 5000 }));
    expect(callsMade).toBe(5000);
    // The oldest entry may have been overwritten while it was read.
    expect([calls.length, calls[0]?.number, calls.at(-1)?.number]).toEqual([4095, 905, 4999]);
    expect(record(recordedMemory({ calls: 50 }), { mostCalls: 7 }).calls.map(({ number }) => number)).toEqual([
      ...[43, 44, 45, 46, 47, 48, 49],
    ]);
  });

  it('omits calls that were overwritten while it was read', () => {
    const bytes = recordedMemory({ calls: 5000 });
    const headerAfter = bytes.slice(0, header.bytes);
    new DataView(headerAfter.buffer).setUint32(header.fields.callsMade, 5010, true);
    expect(record(bytes, { headerAfter }).calls[0]?.number).toBe(915);
  });

  it('omits an entry that was being written, and reports it', () => {
    const bytes = recordedMemory({ isWaiting: true });
    const { fields, bytes: size } = recordLayout.call;
    const callBegin = recordBytes - recordLayout.call.length * size;
    bytes[callBegin + 3 * size + fields.state] = 0;
    const { calls, dropped } = record(bytes);
    expect([calls.length, dropped]).toEqual([3, 1]);
  });

  it('contains no characters that control a terminal', () => {
    const { threadName } = record(recordedMemory({ thread: { threadName: 'a\u001b[31m\nb\u202e' } }));
    expect(threadName).toBe('a\uFFFD[31m b\uFFFD');
  });
});

describe('bytes that are not a record', () => {
  it.each([
    ['an empty file', new Uint8Array(0), 'not a record: it has 0 bytes'],
    ['zeros', new Uint8Array(recordBytes), 'the record is unfinished'],
    ['another file', new Uint8Array(recordBytes).fill(65), 'does not begin with COLLREC1'],
    ['a truncated record', recordedMemory().slice(0, 2000), `truncated: it has 2000 of ${recordBytes} bytes`],
  ])('are refused: %s', (_, bytes, reason) => {
    expect(parse(bytes)).toContain(reason);
  });

  it('are refused if the layout is another one', () => {
    const bytes = recordedMemory();
    bytes[header.fields.version] = 3;
    expect(parse(bytes)).toContain('its layout has version 3, but this coll reads version 2');
    const sizes = recordedMemory();
    sizes[header.fields.calls] = 7;
    expect(parse(sizes)).toContain('sizes of another layout');
  });

  it('cause no failure', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        expect(typeof parse(bytes)).toBe('string');
      }),
    );
  });
});

describe('a damaged record', () => {
  const originals = [recordedMemory({ isWaiting: true }), recordedMemory({ identity: { rank: 1 } })];

  /** Uses a record for all that records are used for. */
  function analyse(records: readonly ThreadRecord[]): void {
    const clocks = alignClocks(records);
    const observer = { host: 'host-a', processState: () => 'gone' as const };
    const seen = observe(jobsOf(records)[0]?.records ?? [], clocks, observer);
    expect(findVerdict(seen).sentence).not.toMatch(/undefined|NaN|Infinity/);
    const graph = waitGraph(seen);
    expect(tableOf(summarize(graph, namingOf(graph)))).not.toMatch(/undefined|NaN|Infinity/);
    for (const event of timelineOf(seen)) expect(JSON.stringify(event)).not.toMatch(/null/);
  }

  it('is analysed as far as it can be, whatever its bytes', () => {
    const places = fc.oneof(fc.nat({ max: 1400 }), fc.nat({ max: 20_000 }), fc.nat({ max: recordBytes - 1 }));
    const changes = fc.array(fc.tuple(places, fc.nat({ max: 255 })), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(changes, (changed) => {
        const records = originals.flatMap((original) => {
          const bytes = original.slice();
          for (const [at, value] of changed) if (at >= 28) bytes[at] = value;
          const parsed = parse(bytes);
          return typeof parsed === 'string' ? [] : [parsed];
        });
        analyse(records);
      }),
      { numRuns: 150 },
    );
  });

  it('is analysed if its tables are random', () => {
    const tables = fc.uint8Array({ minLength: 4096, maxLength: 4096 });
    fc.assert(
      fc.property(tables, (random) => {
        const [bytes] = originals.map((original) => original.slice()) as [Uint8Array];
        for (let at = 32; at < recordBytes; at++) bytes[at] = random[(at * 31) % random.length] as number;
        analyse([record(bytes)]);
      }),
      { numRuns: 20 },
    );
  });
});
