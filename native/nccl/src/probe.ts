import { CollError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import { type BindingSearch, findBinding } from './binding.js';
import { errorFor } from './failures.js';
import type { DeviceFinding, Findings, LibraryFinding, NcclBinding } from './nccl-binding.js';

/** NVIDIA's libraries and GPUs on this machine, and whether collectives can run on them. */
export interface NcclProbe {
  readonly available: boolean;
  /** If NCCL is not available: an error message that says why, and what to do. */
  readonly reason: string | undefined;
  /** Path of the CUDA driver, and the CUDA version that it supports. */
  readonly driver: LibraryVersion | undefined;
  /** Path and version of NCCL. */
  readonly nccl: LibraryVersion | undefined;
  /** The GPUs that this process sees; the first one is `gpu:0`. */
  readonly devices: readonly DeviceFinding[];
  /**
   * Whether the libraries are test doubles of this project, whose results say nothing about a GPU.
   */
  readonly isDouble: boolean;
}

/** A library that was opened. */
export interface LibraryVersion {
  readonly path: string;
  /** Version, such as `13.0` for CUDA or `2.28.9` for NCCL. */
  readonly version: string;
}

/** The addon and the GPUs, if collectives can run. */
export interface Runtime {
  readonly binding: NcclBinding;
  readonly devices: readonly DeviceFinding[];
  readonly isDouble: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

let search: BindingSearch | undefined;
let probed: NcclProbe | undefined;

/** Options of `probe`. */
export interface ProbeOptions {
  /**
   * The NCCL library to load: the path of `libnccl.so.2`, or of a folder that contains the library,
   * such as a Python environment. `COLL_NCCL_LIBRARY` overrides this option. Default: the first
   * library found in the order of docs/guides/gpus.md.
   */
  readonly libraryPath?: string | undefined;
}

const probeOptions = knownOptions<ProbeOptions>('probe', { libraryPath: true });

/**
 * Whether there are GPUs and NCCL, and if not, why. Probes once per process, which takes as long as
 * the driver needs to start; a `libraryPath` applies to all threads of this process.
 * `COLL_CUDA_LIBRARY`, `COLL_NCCL_LIBRARY` and `COLL_NVML_LIBRARY` override the libraries that are
 * found.
 * @throws ValueError if this process already uses another NCCL than `libraryPath`
 *
 * @example
 * ```ts
 * import { probe } from '@coll/nccl';
 *
 * const { available, reason, nccl } = probe();
 * if (!available) console.error(`no NCCL: ${reason}`);
 * console.log(nccl?.version.split('.')[0]); // 2
 * ```
 */
export function probe(options?: ProbeOptions): NcclProbe {
  const { libraryPath } = optionsOf(options, "probe({ libraryPath: '/opt/nccl' })", probeOptions);
  requirePath(libraryPath);
  search ??= findBinding();
  if ('failure' in search) return unavailable(search.failure);
  if (!probed || libraryPath !== undefined) probed = probeWith(search.binding, process.env, libraryPath);
  return probed;
}

/**
 * Returns the addon and the GPUs.
 * @throws CollError that says why NCCL cannot be used, and what to do
 */
export function runtime(): Runtime {
  const { available, reason, devices, isDouble } = probe();
  if (available && search && 'binding' in search) return { binding: search.binding, devices, isDouble };
  throw new CollError('ERR_COLL_REFUSED', `nccl cannot be used here: ${reason}`, { operation: 'nccl' });
}

/**
 * Probes the machine with a given addon.
 * @throws ValueError if this process already uses another NCCL than `libraryPath`
 */
export function probeWith(
  binding: NcclBinding,
  environment: Environment = process.env,
  libraryPath?: string,
): NcclProbe {
  const { driver, nccl, devices } = findingsOf(binding, environment, libraryPath);
  if (nccl.how === 'current folder') {
    const message = `NCCL is loaded from ${nccl.path}, a Python environment in the current folder; set COLL_NCCL_LIBRARY to use another library`;
    logFirst(1, 'NCCL of the current folder', 'info', message);
  }
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

/** NCCL's version code as text: 22809 is `2.28.9`; 2708, in the format before 2.9, is `2.7.8`. */
export function ncclVersion(code: number): string {
  const major = code < 10_000 ? 1000 : 10_000;
  return [Math.floor(code / major), Math.floor((code % major) / 100), code % 100].join('.');
}

/** CUDA's version code as text: 13010 is `13.1`. */
export function cudaVersion(code: number): string {
  return `${Math.floor(code / 1000)}.${Math.floor((code % 1000) / 10)}`;
}

function findingsOf(binding: NcclBinding, environment: Environment, libraryPath: string | undefined): Findings {
  const named = {
    cudaLibrary: environment['COLL_CUDA_LIBRARY'],
    ncclLibrary: environment['COLL_NCCL_LIBRARY'],
    libraryPath,
    nvmlLibrary: environment['COLL_NVML_LIBRARY'],
  };
  try {
    return binding.probe(Object.fromEntries(Object.entries(named).filter(([, path]) => path)));
  } catch (error) {
    throw errorFor(error, { operation: 'probe' });
  }
}

function requirePath(libraryPath: unknown): void {
  if (libraryPath === undefined || (typeof libraryPath === 'string' && libraryPath !== '')) return;
  const message = `probe: libraryPath must be a file or a folder, got ${quote(libraryPath)}`;
  throw new ValueError('ERR_COLL_VALUE', message, { operation: 'probe' });
}

const noVisibleDevice = 'the NVIDIA driver reports no GPU for this process: check CUDA_VISIBLE_DEVICES and nvidia-smi';

function unavailable(reason: string): NcclProbe {
  return { available: false, reason, driver: undefined, nccl: undefined, devices: [], isDouble: false };
}

function versionOf({ path, version }: LibraryFinding, textOf: (code: number) => string): LibraryVersion | undefined {
  return path === undefined || version === undefined ? undefined : { path, version: textOf(version) };
}
