import { statfsSync } from 'node:fs';
import type { GpuFacts, MpiProbe, NcclProbe, PackageAnswer } from '../project-answers.js';
import { askProject, type Reply } from '../project-question.js';
import { type Check, type Line, type Place, unknown } from './line.js';

/** The MPI library. */
export const mpiCheck: Check = {
  name: 'MPI',
  examine: async ({ folder }) => [mpiLine(await askProject('mpi', folder))],
};

/** NCCL, the GPUs, and the memory that NCCL needs. */
export const ncclCheck: Check = {
  name: 'NCCL',
  examine: async ({ folder, environment }) =>
    ncclLines(await askProject('nccl', folder), { size: sharedMemorySize(), environment }),
};

/** The bytes of `/dev/shm`. */
export interface SharedMemorySize {
  readonly bytes: number;
  readonly freeBytes: number;
}

function sharedMemorySize(): SharedMemorySize | undefined {
  try {
    const { bsize, blocks, bavail } = statfsSync('/dev/shm');
    return { bytes: bsize * blocks, freeBytes: bsize * bavail };
  } catch {
    return undefined;
  }
}

export function mpiLine(reply: Reply<PackageAnswer<MpiProbe>>): Line {
  const name = 'MPI';
  if ('failure' in reply) return failedProbe(name, '@coll/mpi', reply.failure);
  const { probe } = reply.answer;
  if (!probe) return { name, text: '@coll/mpi is not installed', data: { isInstalled: false } };
  const { available, reason = 'the library cannot be used', version, path } = probe;
  const data = { isInstalled: true, ...probe };
  if (available) return { name, verdict: 'ok', text: `${version?.split(',')[0]} (${path})`, data };
  const library = 'install MPI (Debian: apt install openmpi-bin) or load its module, or set COLL_MPI_LIB to libmpi.so';
  return { name, verdict: 'broken', text: reason, cure: packageCure(reason, '@coll/mpi') ?? library, data };
}

/** The system around NCCL. */
export interface NcclSurroundings {
  /** Undefined if there is no `/dev/shm`. */
  readonly size: SharedMemorySize | undefined;
  readonly environment: Place['environment'];
}

export function ncclLines(reply: Reply<PackageAnswer<NcclProbe>>, around: NcclSurroundings): readonly Line[] {
  const probe = 'answer' in reply ? reply.answer.probe : undefined;
  const line = 'failure' in reply ? failedProbe('NCCL', '@coll/nccl', reply.failure) : ncclLine(probe);
  return [line, gpuLine(probe), sharedMemoryLine(probe, around)];
}

function ncclLine(probe: NcclProbe | undefined): Line {
  const name = 'NCCL';
  if (!probe) return { name, text: '@coll/nccl is not installed', data: { isInstalled: false } };
  const { available, reason = 'the library cannot be used', driver, nccl, devices, isDouble } = probe;
  const data = { isInstalled: true, available, reason: probe.reason, driver, nccl, isDouble };
  if (available) {
    const double = isDouble ? ', a test double' : '';
    return {
      name,
      verdict: 'ok',
      text: `NCCL ${nccl?.version}, CUDA ${driver?.version} (${nccl?.path})${double}`,
      data,
    };
  }
  const addon = packageCure(reason, '@coll/nccl');
  if (addon !== undefined) return { name, verdict: 'broken', text: reason, cure: addon, data };
  // Programs then use the processors.
  if (devices.length === 0) {
    const cure = 'install the NVIDIA driver, or give the container its GPUs (docker run --gpus all)';
    return {
      name,
      verdict: 'slow',
      text: reason,
      cure: driver ? 'set CUDA_VISIBLE_DEVICES to GPUs that nvidia-smi lists' : cure,
      data,
    };
  }
  const cure =
    'install NCCL (pip install nvidia-nccl-cu12, or apt install libnccl2), or set COLL_NCCL_LIBRARY to libnccl.so.2';
  return { name, verdict: 'broken', text: reason, cure, data };
}

function gpuLine(probe: NcclProbe | undefined): Line {
  const name = 'GPUs';
  if (!probe) return { name, text: 'not examined: @coll/nccl finds them' };
  const { devices } = probe;
  return { name, text: devices.length === 0 ? 'none' : namesOf(devices), data: { devices } };
}

/** Such as `8 x NVIDIA H200`. */
function namesOf(devices: readonly GpuFacts[]): string {
  const names = [...new Set(devices.map(({ name }) => name))];
  return names.map((name) => `${devices.filter((device) => device.name === name).length} x ${name}`).join(', ');
}

const MiB = 2 ** 20;
/** NCCL shares segments of this size, about, with each of two neighbours. */
const bytesPerGpu = 20 * MiB;

function sharedMemoryLine(probe: NcclProbe | undefined, { size, environment }: NcclSurroundings): Line {
  const name = '/dev/shm';
  if (size === undefined) return { name, text: unknown };
  const { bytes, freeBytes } = size;
  const line = { name, text: `${sizeText(bytes)}, of which ${sizeText(freeBytes)} are free`, data: size };
  if (!probe || environment['NCCL_SHM_DISABLE'] === '1') return { ...line, text: `${line.text} (only NCCL uses it)` };
  const gpus = probe.devices.length;
  if (gpus < 2 || freeBytes >= gpus * bytesPerGpu) return { ...line, verdict: 'ok' };
  const cure =
    'start the container with --shm-size=1g or --ipc=host (Kubernetes: mount an emptyDir with medium Memory there), or set NCCL_SHM_DISABLE=1';
  return { ...line, verdict: 'broken', text: `${line.text}: too small for NCCL with ${gpus} GPUs`, cure };
}

function sizeText(bytes: number): string {
  return bytes < 1024 * MiB ? `${Math.round(bytes / MiB)} MiB` : `${Number((bytes / 1024 / MiB).toFixed(1))} GiB`;
}

/** What to do if the package is not for this platform, or lacks its addon. */
function packageCure(reason: string, name: string): string | undefined {
  const [install] = /npm install @coll\/\S+/.exec(reason) ?? [];
  if (install !== undefined) return install;
  if (/ on Linux only/.test(reason)) return `run programs on Linux, or npm uninstall ${name}`;
  return /addon cannot be loaded/.test(reason) ? 'delete node_modules and run npm install on this system' : undefined;
}

function failedProbe(name: string, packageName: string, failure: string): Line {
  const cure = `npm install ${packageName} again; if its library crashes by itself, repair the library`;
  return { name, verdict: 'broken', text: `${packageName} could not be probed: ${failure}`, cure };
}
