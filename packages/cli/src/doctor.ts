import { cpus } from 'node:os';
import { native } from '@coll/native';
import { type Calibration, calibration, describeCalibration, nativeBinding } from '@coll/native/addon';
import {
  describeCaches,
  describeCores,
  describeNodes,
  describeQuota,
  findHostLimits,
  findMachine,
  type HostLimits,
  type Machine,
} from '@coll/native/machine';
import type { DoctorRequest } from './arguments.js';

/** What was found on a machine, as `coll doctor --json` prints it. */
export interface Examination {
  /** The version of Node.js. */
  readonly node: string;
  /** The operating system and the processor's architecture, such as `linux x64`. */
  readonly platform: string;
  /** The model of the processor. */
  readonly processor: string;
  readonly machine: Machine;
  readonly limits: HostLimits;
  readonly engine: EngineState;
}

/** The native engine, and what the system allows to it. An empty reason means that it works. */
export interface EngineState {
  /** Why the native engine cannot be used; undefined if it works. */
  readonly refused?: string;
  readonly simd?: string;
  /** The sizes from which the engine works in another way. An uncached machine is measured. */
  readonly calibration?: Calibration;
  /** Why processes of this user cannot share memory; empty if they can; undefined if unknown. */
  readonly sharedMemory?: string;
  /** Why this process cannot read memory of another one; empty if it can; undefined if unknown. */
  readonly memoryAccess?: string;
}

/**
 * Prints what coll finds on this machine.
 * @throws ValueError for a value of `COLL_CORES` or `COLL_HELPER_THREADS` that is not a number, or of
 * `COLL_THRESHOLDS` that is not valid
 */
export function examine({ isJson }: DoctorRequest): void {
  const examination = examined();
  process.stdout.write(`${isJson ? JSON.stringify(examination, undefined, 2) : textOf(examination)}\n`);
}

function examined(): Examination {
  const limits = findHostLimits();
  return {
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    processor: cpus()[0]?.model.trim() || 'unknown',
    machine: findMachine(),
    limits,
    engine: engineState(limits),
  };
}

function engineState({ ptraceScope }: HostLimits): EngineState {
  const probe = native.probe();
  if (!probe.available) return { refused: probe.reason };
  const binding = nativeBinding();
  const { simd, probeHost } = binding;
  const found = calibration(binding);
  if (!probeHost) return { simd, calibration: found };
  const [sharedMemory, refusal] = probeHost();
  return { simd, calibration: found, sharedMemory, memoryAccess: refusal || scopeRefusal(ptraceScope) };
}

/** Why ranks cannot read each other's memory although the system has the call for it. */
function scopeRefusal(scope: number | undefined): string {
  if (!scope) return '';
  return `kernel.yama.ptrace_scope is ${scope}; ranks that are not descendants of each other need 0`;
}

/** The examination as lines of a name and a text. */
export function textOf({ node, platform, processor, machine, limits, engine }: Examination): string {
  const works = (refusal: string | undefined) => {
    if (refusal === undefined) return unknown;
    return refusal === '' ? 'works' : `refused: ${refusal}`;
  };
  const lines: readonly [name: string, text: string][] = [
    ['system', `Node ${node}, ${platform}`],
    ['processor', processor],
    ['cores', `${describeCores(machine)}, ${describeQuota(machine)}`],
    ['NUMA', describeNodes(machine)],
    ['caches', describeCaches(machine).join(', ') || unknown],
    ['helpers', `up to ${machine.helperThreads} threads`],
    ['native engine', engine.refused === undefined ? `works with ${engine.simd}` : `refused: ${engine.refused}`],
    ['thresholds', engine.calibration ? describeCalibration(engine.calibration) : unknown],
    ['shared memory', works(engine.sharedMemory)],
    ['memory access', works(engine.memoryAccess)],
    ['huge pages', limits.hugePages ?? unknown],
    ['  shared', limits.sharedHugePages ?? unknown],
    ['open files', limits.openFiles ?? unknown],
  ];
  return lines.map(([name, text]) => `${name.padEnd(14)}${text}`).join('\n');
}

const unknown = 'not reported by this system';
