import path from 'node:path';
import type { SystemFiles } from './system-files.js';

/**
 * The CPU quota of this process, in cores: the least of its control groups (cgroups, version 1 and
 * 2) and of all groups above them that are visible here. Undefined if there is no quota.
 */
export function cpuQuota(files: SystemFiles): number | undefined {
  const quotas = groupsOf(files).flatMap(({ version, folders }) =>
    folders.map((folder) => quotaOf(files, version, folder)),
  );
  const known = quotas.filter((quota) => quota !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

interface ControlGroup {
  readonly version: 1 | 2;
  /** The folders of the group and of those above it, up to the mount point. */
  readonly folders: readonly string[];
}

function groupsOf(files: SystemFiles): ControlGroup[] {
  const mounts = mountsOf(files);
  const lines = files.read('proc/self/cgroup')?.split('\n') ?? [];
  return lines.flatMap((line): ControlGroup[] => {
    const [, id, controllers = '', own = ''] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    const version = id === '0' && controllers === '' ? 2 : 1;
    if (version === 1 && !controllers.split(',').includes('cpu')) return [];
    return mounts
      .filter((mount) => mount.version === version)
      .map(({ root, place }) => ({ version, folders: foldersBetween(place, pathBelow(root, own)) }));
  });
}

interface Mount {
  readonly version: 1 | 2;
  /** The control group that is mounted. */
  readonly root: string;
  readonly place: string;
}

/** Where the file systems of control groups with CPU quotas are mounted. */
function mountsOf(files: SystemFiles): Mount[] {
  const lines = files.read('proc/self/mountinfo')?.split('\n') ?? [];
  return lines.flatMap((line): Mount[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '/', place = ''] = before.split(' ').map(unescaped);
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') return [{ version: 2, root, place }];
    return type === 'cgroup' && options.split(',').includes('cpu') ? [{ version: 1, root, place }] : [];
  });
}

/** Spaces in names are written as `\040`. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

/**
 * The path of a group below the group that is mounted; empty if the group is not below it, as in a
 * container that sees only its own group.
 */
function pathBelow(root: string, own: string): string {
  const below = path.posix.relative(root, own);
  return below.split('/').includes('..') ? '' : below;
}

function foldersBetween(place: string, below: string): string[] {
  const parts = below === '' ? [] : below.split('/');
  return [...Array(parts.length + 1).keys()].map((count) => path.posix.join(place, ...parts.slice(0, count)));
}

function quotaOf(files: SystemFiles, version: 1 | 2, folder: string): number | undefined {
  const [quota, period] =
    version === 2
      ? (files.read(folder, 'cpu.max')?.split(' ') ?? [])
      : [files.read(folder, 'cpu.cfs_quota_us'), files.read(folder, 'cpu.cfs_period_us')];
  // `max` in version 2 and -1 in version 1 mean no quota.
  const cores = Number(quota) / Number(period);
  return cores > 0 && cores < Number.POSITIVE_INFINITY ? cores : undefined;
}
