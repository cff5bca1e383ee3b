import { describe, expect, it } from 'vitest';
import { systemTree } from '../../test/system-tree.js';
import { findHostLimits } from './host-limits.js';
import { describeCaches, describeCores, describeMachine, findMachine } from './machine.js';
import { findTopology } from './topology.js';

const cpu = 'sys/devices/system/cpu';
const node = 'sys/devices/system/node';

function cacheFiles(core: number, index: number, level: number, type: string, size: string, shared: string) {
  const folder = `${cpu}/cpu${core}/cache/index${index}`;
  return {
    [`${folder}/level`]: `${level}`,
    [`${folder}/type`]: type,
    [`${folder}/size`]: size,
    [`${folder}/shared_cpu_list`]: shared,
  };
}

/** Two nodes with two cores each; the cores of a node share the third-level cache. */
function twoNodes() {
  const files = [0, 1, 2, 3].flatMap((core) => [
    cacheFiles(core, 0, 1, 'Data', '32K', `${core}`),
    cacheFiles(core, 1, 1, 'Instruction', '64K', `${core}`),
    cacheFiles(core, 2, 3, 'Unified', '16M', core < 2 ? '0-1' : '2-3'),
  ]);
  return systemTree({
    'proc/self/status': 'Cpus_allowed_list:\t0-3',
    [`${node}/online`]: '0-1',
    [`${node}/node0/cpulist`]: '0-1',
    [`${node}/node1/cpulist`]: '2-3',
    ...Object.assign({}, ...files),
  });
}

const MiB = 1024 ** 2;

describe('a machine', () => {
  it('has the NUMA nodes and caches of sysfs', () => {
    const machine = findMachine({ root: twoNodes(), announced: 4, environment: {} });
    expect(machine.nodes).toEqual([
      { node: 0, coreList: '0-1' },
      { node: 1, coreList: '2-3' },
    ]);
    expect(machine.caches).toEqual([
      ...[0, 1, 2, 3].map((core) => ({ level: 1, bytes: 32 * 1024, coreList: `${core}` })),
      { level: 3, bytes: 16 * MiB, coreList: '0-1' },
      { level: 3, bytes: 16 * MiB, coreList: '2-3' },
    ]);
    expect(describeMachine(machine)).toBe(
      '4 cores (0-3), no CPU quota, 2 NUMA nodes (0: 0-1; 1: 2-3), up to 3 helper threads',
    );
    expect(describeCaches(machine)).toEqual(['L1 32 KiB per core', 'L3 16 MiB shared by cores 0-1; cores 2-3']);
  });

  it('has only what belongs to the cores of the process', () => {
    expect(findTopology('2', twoNodes())).toEqual({
      nodes: [{ node: 1, coreList: '2' }],
      caches: [
        { level: 1, bytes: 32 * 1024, coreList: '2' },
        { level: 3, bytes: 16 * MiB, coreList: '2' },
      ],
    });
  });

  it('has no nodes and caches if the system does not report them', () => {
    expect(findTopology('0-3', systemTree({}))).toEqual({ nodes: [], caches: [] });
    const incomplete = systemTree({ [`${cpu}/cpu0/cache/index0/level`]: '1' });
    expect(findTopology('0', incomplete).caches).toEqual([]);
  });

  it('is described with the reason for its number of cores', () => {
    const cores = { cores: 2, coreList: '0-63', quota: 2, limit: 'quota' } as const;
    expect(describeCores(cores)).toBe('2 cores by the CPU quota, of the cores 0-63');
    expect(describeCores({ ...cores, limit: 'COLL_CORES' })).toBe('2 cores by COLL_CORES');
    expect(describeCores({ ...cores, cores: 1, coreList: '', limit: 'affinity' })).toBe('1 core');
    expect(describeMachine({ ...cores, helperThreads: 1, nodes: [], caches: [] })).toBe(
      '2 cores by the CPU quota, of the cores 0-63, a CPU quota of 2 cores, NUMA nodes not reported, up to 1 helper threads',
    );
  });
});

describe('the limits of a host', () => {
  it('are read from proc and sysfs', () => {
    const pages = 'sys/kernel/mm/transparent_hugepage';
    const root = systemTree({
      'proc/self/status': 'Name:\tnode',
      'proc/sys/kernel/yama/ptrace_scope': '1',
      'proc/self/limits':
        'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files',
      [`${pages}/enabled`]: 'always [madvise] never',
      [`${pages}/shmem_enabled`]: 'always within_size advise [never] deny force',
    });
    expect(findHostLimits(root)).toEqual({
      ptraceScope: 1,
      hugePages: 'madvise',
      sharedHugePages: 'never',
      openFiles: '1024',
    });
  });

  it('are undefined if the system does not report them, but Linux without Yama has no scope', () => {
    expect(findHostLimits(systemTree({}))).toEqual({});
    expect(findHostLimits(systemTree({ 'proc/self/status': 'Name:\tnode' }))).toEqual({ ptraceScope: 0 });
  });
});
