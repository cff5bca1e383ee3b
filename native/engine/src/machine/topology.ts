import { coresIn, isCoreList, listOf } from './core-list.js';
import { SystemFiles } from './system-files.js';

/** A NUMA node with cores of this process. */
export interface NumaNode {
  readonly node: number;
  /** The cores of the node that this process may use, such as `0-3,8`. */
  readonly coreList: string;
}

/** A cache for data. */
export interface Cache {
  readonly level: number;
  readonly bytes: number;
  /** The cores of this process that share the cache. */
  readonly coreList: string;
}

/** How the cores of this process share memory and caches. */
export interface Topology {
  /** Empty if the system does not report nodes. */
  readonly nodes: readonly NumaNode[];
  /** By level. Empty if the system does not report caches. */
  readonly caches: readonly Cache[];
}

/**
 * Reads NUMA nodes and caches from sysfs.
 * @param coreList the cores that this process may use
 * @param root the folder with `sys`. Default: `/`
 */
export function findTopology(coreList: string, root = '/'): Topology {
  const files = new SystemFiles(root);
  const own = new Set(coresIn(coreList));
  return { nodes: nodesOf(files, own), caches: cachesOf(files, own) };
}

const nodeFolder = 'sys/devices/system/node';
const coreFolder = 'sys/devices/system/cpu';

function nodesOf(files: SystemFiles, own: ReadonlySet<number>): NumaNode[] {
  const numbers = files.names(nodeFolder).flatMap((name) => (/^node\d+$/.test(name) ? [Number(name.slice(4))] : []));
  return numbers
    .toSorted((a, b) => a - b)
    .map((node) => ({ node, coreList: ownPartOf(files.read(nodeFolder, `node${node}`, 'cpulist'), own) }))
    .filter(({ coreList }) => coreList !== '');
}

function cachesOf(files: SystemFiles, own: ReadonlySet<number>): Cache[] {
  const caches = new Map<string, Cache>();
  for (const core of own) {
    const folder = [coreFolder, `cpu${core}`, 'cache'];
    for (const index of files.names(...folder).filter((name) => /^index\d+$/.test(name))) {
      const attribute = (name: string) => files.read(...folder, index, name);
      const level = Number(attribute('level'));
      const bytes = bytesOf(attribute('size'));
      const coreList = ownPartOf(attribute('shared_cpu_list'), own);
      if (attribute('type') === 'Instruction' || !(level > 0) || bytes === undefined || coreList === '') continue;
      caches.set(`${level} ${coreList}`, { level, bytes, coreList });
    }
  }
  return [...caches.values()].toSorted((a, b) => a.level - b.level);
}

function ownPartOf(list: string | undefined, own: ReadonlySet<number>): string {
  return list !== undefined && isCoreList(list) ? listOf(coresIn(list).filter((core) => own.has(core))) : '';
}

/** Reads sizes such as `32768K`. */
function bytesOf(size: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([KMG]?)$/.exec(size ?? '') ?? [];
  return digits === undefined ? undefined : Number(digits) * 1024 ** ' KMG'.indexOf(unit || ' ');
}
