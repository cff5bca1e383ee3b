import { setLogSink } from '@coll/core';
import { type Calibration, type NativeBinding, usualThresholds } from '@coll/native/addon';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agreedThresholds, proposedThresholds, reportOverruled } from './thresholds.js';

const binding = {} as NativeBinding;
const thresholds = { ...usualThresholds, smallBytes: 64 };
const agreed: Calibration = { thresholds, source: 'measured', detail: 'cached' };
let lines: string[];

beforeEach(() => {
  lines = [];
  setLogSink((level, message) => lines.push(`${level} ${message}`));
});
afterEach(() => setLogSink());

describe('the thresholds of a group', () => {
  it('are those of rank 0', () => {
    const proposed: unknown = JSON.parse(JSON.stringify(proposedThresholds(binding, 2)));
    expect(agreedThresholds(proposed)).toMatchObject({ thresholds: usualThresholds, source: 'COLL_THRESHOLDS' });
    expect(proposedThresholds(binding, 1)).toBeUndefined();
  });

  it.each([undefined, null, '', { thresholds: {} }, { thresholds: 5, source: 'measured', detail: '' }])(
    'are the usual ones if rank 0 proposes %j',
    (proposed) => {
      expect(agreedThresholds(proposed)).toMatchObject({ thresholds: usualThresholds, source: 'usual' });
    },
  );

  it('overrule those of other ranks with a warning', () => {
    reportOverruled(undefined, agreed, 1);
    reportOverruled({ ...agreed, source: 'option' }, agreed, 1);
    expect(lines).toEqual([]);
    const own = { thresholds: usualThresholds, source: 'option', detail: 'set by configureNative' } as const;
    reportOverruled(own, agreed, 1);
    expect(lines[0]).toMatch(/^warn rank 1 uses the thresholds of rank 0 instead of its own: small up to 64 bytes/);
  });
});
