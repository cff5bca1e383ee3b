import { usualThresholds } from '@coll/native/addon';
import { expect, it } from 'vitest';
import { nativeLimitsLines } from './native-limits.js';

const calibration = { thresholds: usualThresholds, source: 'measured', detail: 'cached in /c' } as const;

it('reports thresholds, and that processes may share memory', () => {
  const lines = nativeLimitsLines({ calibration, sharedMemory: '', memoryAccess: '', ptraceScope: 0 });
  expect(lines).toEqual([
    {
      name: 'thresholds',
      text: 'small up to 1 KiB, blocks of 256 KiB, streaming from 8 MiB, helpers from 128 KiB, woken for 4 MiB (measured: cached in /c)',
      data: { calibration },
    },
    { name: 'shared memory', verdict: 'ok', text: 'works between processes', data: { refused: false } },
    {
      name: 'memory access',
      text: 'allowed between processes (only libraries of MPI use it)',
      data: { refused: false, reason: '', ptraceScope: 0 },
    },
  ]);
});

it('refused shared memory is slow, because processes use TCP', () => {
  const [, line] = nativeLimitsLines({
    calibration,
    sharedMemory: 'cannot create shared memory: Operation not permitted',
  });
  expect(line).toMatchObject({
    verdict: 'slow',
    text: 'refused: cannot create shared memory: Operation not permitted; processes use TCP instead',
    cure: expect.stringContaining('--security-opt seccomp=unconfined'),
  });
});

it.each([
  ['Operation not permitted', 1, 'Operation not permitted'],
  ['', 1, 'kernel.yama.ptrace_scope is 1'],
])('refused memory access is a fact with its reason: %j, scope %i', (memoryAccess, ptraceScope, reason) => {
  const [, , line] = nativeLimitsLines({ calibration, sharedMemory: '', memoryAccess, ptraceScope });
  expect(line?.text).toBe(`refused between processes: ${reason} (only libraries of MPI use it)`);
  expect(line?.verdict).toBeUndefined();
});

it('a system without groups of processes does not report their memory', () => {
  const [, ...lines] = nativeLimitsLines({ calibration });
  const text = 'not reported by this system';
  expect(lines).toEqual([
    { name: 'shared memory', text },
    { name: 'memory access', text },
  ]);
});

it('nothing is known without the native engine', () => {
  const text = 'not known without the native engine';
  const expected = ['thresholds', 'shared memory', 'memory access'].map((name) => ({ name, text }));
  expect(nativeLimitsLines(undefined)).toEqual(expected);
});
