import { CollError } from '@coll/core';
import { type BindingSearch, findBinding } from './binding.js';
import type { DeviceFinding, LibraryFinding, NcclBinding } from './nccl-binding.js';

/** What was found of NVIDIA's on this machine, and whether collectives can run on it. */
export interface NcclProbe {
  readonly available: boolean;
  /** Where it is not available: why, and what to do, in one sentence. */
  readonly reason: string | undefined;
  /** The CUDA driver: the file, and the version of CUDA that it supports. */
  readonly driver: LibraryVersion | undefined;
  /** NCCL: the file, and its version. */
  readonly nccl: LibraryVersion | undefined;
  /** The GPUs that this process sees: `gpu:0` is the first. */
  readonly devices: readonly DeviceFinding[];
  /** The libraries are test doubles of this project: what runs says nothing about a GPU. */
  readonly isDouble: boolean;
}

/** A library that was opened. */
export interface LibraryVersion {
  readonly path: string;
  /** Such as `13.0` for CUDA, `2.28.9` for NCCL. */
  readonly version: string;
}

/** The addon, and what it found, where collectives can run. */
export interface Runtime {
  readonly binding: NcclBinding;
  readonly devices: readonly DeviceFinding[];
  readonly isDouble: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

let search: BindingSearch | undefined;
let probed: NcclProbe | undefined;

/**
 * Whether there are GPUs and NCCL, and if not, why. Never throws; looks the first time only, which takes as long as the driver needs to
 * start. `COLL_CUDA_LIBRARY` and `COLL_NCCL_LIBRARY` name other files than the ones that are found.
 */
export function probe(): NcclProbe {
  search ??= findBinding();
  probed ??= 'binding' in search ? probeWith(search.binding) : unavailable(search.failure);
  return probed;
}

/** @throws CollError that says why there is none, and what to do */
export function runtime(): Runtime {
  const { available, reason, devices, isDouble } = probe();
  if (available && search && 'binding' in search) return { binding: search.binding, devices, isDouble };
  throw new CollError('ERR_COLL_REFUSED', `nccl cannot be used here: ${reason}`, { operation: 'nccl' });
}

/** What a binding says of its machine. */
export function probeWith(binding: NcclBinding, environment: Environment = process.env): NcclProbe {
  const [cudaLibrary, ncclLibrary] = [environment['COLL_CUDA_LIBRARY'], environment['COLL_NCCL_LIBRARY']];
  const { driver, nccl, devices } = binding.probe({
    ...(cudaLibrary ? { cudaLibrary } : {}),
    ...(ncclLibrary ? { ncclLibrary } : {}),
  });
  const noDevice = devices.length === 0 ? noVisibleDevice : undefined;
  const reason = driver.failure ?? noDevice ?? nccl.failure;
  return {
    available: reason === undefined,
    reason,
    driver: versionOf(driver, cudaVersion),
    nccl: versionOf(nccl, ncclVersion),
    devices,
    isDouble: driver.isDouble || nccl.isDouble,
  };
}

/** NCCL's version code in words: 22809 is `2.28.9`, 2708, as it was written before 2.9, `2.7.8`. */
export function ncclVersion(code: number): string {
  const major = code < 10_000 ? 1000 : 10_000;
  return [Math.floor(code / major), Math.floor((code % major) / 100), code % 100].join('.');
}

/** CUDA's version code in words: 13010 is `13.1`. */
export function cudaVersion(code: number): string {
  return `${Math.floor(code / 1000)}.${Math.floor((code % 1000) / 10)}`;
}

const noVisibleDevice = 'the NVIDIA driver shows no GPU to this process: look at CUDA_VISIBLE_DEVICES and nvidia-smi';

function unavailable(reason: string): NcclProbe {
  return { available: false, reason, driver: undefined, nccl: undefined, devices: [], isDouble: false };
}

function versionOf({ path, version }: LibraryFinding, told: (code: number) => string): LibraryVersion | undefined {
  return path === undefined || version === undefined ? undefined : { path, version: told(version) };
}
