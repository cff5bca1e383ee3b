import { usualThresholds } from '@coll/native/addon';
import { expect, it } from 'vitest';
import { type Examination, textOf } from './doctor.js';

const here = { node: '20.1.0', platform: 'linux x64', processor: 'EPYC' };
const machine = {
  cores: 2,
  coreList: '0-63',
  quota: 2,
  limit: 'quota',
  helperThreads: 1,
  nodes: [],
  caches: [],
} as const;
const nothing = { ptraceScope: undefined, hugePages: undefined, sharedHugePages: undefined, openFiles: undefined };

it('textOf lists what was found, with the reason of each refusal', () => {
  const limits = { ptraceScope: 1, hugePages: 'madvise', sharedHugePages: 'never', openFiles: '1024' };
  const calibration = { thresholds: usualThresholds, source: 'measured', detail: 'cached in /c' } as const;
  const engine = { simd: 'avx2', calibration, sharedMemory: '', memoryAccess: 'Operation not permitted' };
  const caches = [{ level: 2, bytes: 2 ** 20, coreList: '0' }];
  const nodes = [{ node: 0, coreList: '0-63' }];
  const examination: Examination = { ...here, machine: { ...machine, caches, nodes }, limits, engine };
  expect(textOf(examination).split('\n')).toEqual([
    'system        Node 20.1.0, linux x64',
    'processor     EPYC',
    'cores         2 cores by the CPU quota, of the cores 0-63, a CPU quota of 2 cores',
    'NUMA          1 NUMA node',
    'caches        L2 1 MiB per core',
    'helpers       up to 1 threads',
    'native engine works with avx2',
    'thresholds    small up to 1 KiB, blocks of 256 KiB, streaming from 8 MiB, helpers from 128 KiB, woken for 4 MiB (measured: cached in /c)',
    'shared memory works',
    'memory access refused: Operation not permitted',
    'huge pages    madvise',
    '  shared      never',
    'open files    1024',
  ]);
});

it('textOf names what the system does not report', () => {
  const text = textOf({ ...here, machine, limits: nothing, engine: { refused: 'missing its binary' } });
  expect(text).toContain(
    'native engine refused: missing its binary\nthresholds    not reported by this system\nshared memory not reported by this system\n',
  );
  expect(text).toContain('caches        not reported by this system\n');
});
