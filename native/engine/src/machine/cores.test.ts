import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { systemTree } from '../../test/system-tree.js';
import { type CoresOptions, findCores } from './cores.js';

const status = 'Name:\tnode\nCpus_allowed_list:\t0-63';
const unified = '30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate';
const ofCpu = (root: string) => `33 32 0:30 ${root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct`;

function found(files: Readonly<Record<string, string>>, options: CoresOptions = {}) {
  const root = systemTree({ 'proc/self/status': status, ...files });
  return findCores({ root, announced: 64, environment: {}, ...options });
}

describe('the cores of a process', () => {
  it('are those of its affinity without a quota', () => {
    expect(found({})).toEqual({ cores: 64, coreList: '0-63', quota: undefined, limit: 'affinity' });
    const files = { 'proc/self/status': 'Cpus_allowed_list:\t3,9' };
    expect(found(files, { announced: 2 })).toMatchObject({ cores: 2, coreList: '3,9' });
  });

  it.each([
    ['missing', 'Name:\tnode'],
    ['followed by words', 'Cpus_allowed_list:\t0-1 or so'],
    ['under another name', 'Other_Cpus_allowed_list:\t0-1'],
    ['impossible', 'Cpus_allowed_list:\t0-99999'],
  ])('have no list if that of Linux is %s', (_, text) => {
    expect(found({ 'proc/self/status': text })).toMatchObject({ cores: 64, coreList: '' });
  });

  it('of this process are at most those that Node.js reports', () => {
    const { cores } = findCores({ environment: {} });
    expect(cores).toBeGreaterThan(0);
    expect(cores).toBeLessThanOrEqual(availableParallelism());
  });

  it.each([
    ['2', 2],
    ['128', 128],
    ['8192', 8192],
  ])('are %s if COLL_CORES says so', (variable, cores) => {
    const list = `0-${cores - 1}`;
    expect(found({}, { environment: { COLL_CORES: variable } })).toMatchObject({
      cores,
      coreList: list,
      limit: 'COLL_CORES',
    });
  });

  it('are detected if COLL_CORES is empty', () => {
    expect(found({}, { environment: { COLL_CORES: '' } })).toMatchObject({ cores: 64, limit: 'affinity' });
  });

  it.each(['0', '8193', '1.5', '-1', 'all', ' 2'])('cannot be %j by COLL_CORES', (variable) => {
    expect(() => found({}, { environment: { COLL_CORES: variable } })).toThrow(
      `COLL_CORES must be a whole number from 1 to 8192, got "${variable}"`,
    );
  });
});

describe('the CPU quota of cgroups, version 2,', () => {
  const inService = { 'proc/self/cgroup': '0::/a/b', 'proc/self/mountinfo': unified };

  it('limits the cores, in whole cores', () => {
    const files = { ...inService, 'sys/fs/cgroup/a/b/cpu.max': '250000 100000' };
    expect(found(files)).toEqual({ cores: 2, coreList: '0-63', quota: 2.5, limit: 'quota' });
  });

  it('counts as at least one core', () => {
    expect(found({ ...inService, 'sys/fs/cgroup/a/b/cpu.max': '50000 100000' })).toMatchObject({
      cores: 1,
      quota: 0.5,
    });
  });

  it('is the least of all groups above the process', () => {
    const files = {
      ...inService,
      'sys/fs/cgroup/a/b/cpu.max': '800000 100000',
      'sys/fs/cgroup/a/cpu.max': '30000 10000',
      'sys/fs/cgroup/cpu.max': 'max 100000',
      'sys/fs/cgroup/other/cpu.max': '100000 100000',
    };
    expect(found(files)).toMatchObject({ cores: 3, quota: 3 });
  });

  it('does not exist if it is max, or cannot be read', () => {
    expect(found({ ...inService, 'sys/fs/cgroup/a/b/cpu.max': 'max 100000' })).toMatchObject({ quota: undefined });
    expect(found({ ...inService, 'sys/fs/cgroup/a/b/cpu.max': 'garbage' })).toMatchObject({ quota: undefined });
    expect(found(inService)).toMatchObject({ cores: 64, quota: undefined });
  });

  it('does not limit a process with fewer cores', () => {
    const files = { ...inService, 'sys/fs/cgroup/a/b/cpu.max': '800000 100000' };
    expect(found(files, { announced: 4 })).toMatchObject({ cores: 4, quota: 8, limit: 'affinity' });
  });

  it('is found in a container that sees its own group as the root', () => {
    const files = {
      'proc/self/cgroup': '0::/',
      'proc/self/mountinfo': unified,
      'sys/fs/cgroup/cpu.max': '200000 100000',
    };
    expect(found(files)).toMatchObject({ cores: 2, limit: 'quota' });
  });

  it('is found in a container whose group is mounted under the name that it has outside', () => {
    const mount = unified.replace(' / /sys', ' /docker/1f /sys');
    const files = { 'proc/self/cgroup': '0::/docker/1f/x', 'proc/self/mountinfo': mount };
    expect(found({ ...files, 'sys/fs/cgroup/x/cpu.max': '200000 100000' })).toMatchObject({ cores: 2 });
  });

  it('is found at the mount point if the group is outside of what is mounted', () => {
    const files = { 'proc/self/cgroup': '0::/../..', 'proc/self/mountinfo': unified };
    expect(found({ ...files, 'sys/fs/cgroup/cpu.max': '200000 100000' })).toMatchObject({ cores: 2 });
  });

  it('is found below a mount point with a space', () => {
    const mount = unified.replace('/sys/fs/cgroup', '/my\\040groups');
    const files = { 'proc/self/cgroup': '0::/', 'proc/self/mountinfo': mount, 'my groups/cpu.max': '200000 100000' };
    expect(found(files)).toMatchObject({ cores: 2 });
  });
});

describe('the CPU quota of cgroups, version 1,', () => {
  const cgroup = '5:cpu,cpuacct:/a/b\n4:memory:/other\n3:cpuset:/a\n0::/a';

  it('is the least of all groups above the process', () => {
    const files = {
      'proc/self/cgroup': cgroup,
      'proc/self/mountinfo': `${ofCpu('/')}\n${unified}`,
      'sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us': '-1',
      'sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us': '100000',
      'sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us': '600000',
      'sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us': '200000',
    };
    expect(found(files)).toEqual({ cores: 3, coreList: '0-63', quota: 3, limit: 'quota' });
  });

  it('is found in a container whose group is mounted', () => {
    const files = {
      'proc/self/cgroup': '5:cpu,cpuacct:/docker/1f',
      'proc/self/mountinfo': ofCpu('/docker/1f'),
      'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '200000',
      'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000',
    };
    expect(found(files)).toMatchObject({ cores: 2, limit: 'quota' });
  });
});
