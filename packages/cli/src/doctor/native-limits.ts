import { native } from '@coll/native';
import { type Calibration, calibration, describeCalibration, nativeBinding } from '@coll/native/addon';
import { findHostLimits } from '@coll/native/machine';
import { type Check, type Line, unknown } from './line.js';

/** What the native engine finds out about the system. A field is undefined if the engine or the system does not report it. */
export interface NativeFacts {
  /** The sizes from which the engine works in another way. */
  readonly calibration: Calibration;
  /** Why processes of this user cannot share memory; empty if they can. */
  readonly sharedMemory?: string | undefined;
  /** Why a process may not call `process_vm_readv`; empty if it may. */
  readonly memoryAccess?: string | undefined;
  /** `kernel.yama.ptrace_scope`. */
  readonly ptraceScope?: number | undefined;
}

/** Thresholds and memory, as the native engine finds them. A machine that was not measured yet is measured. */
export const nativeLimitsCheck: Check = { name: 'thresholds', examine: () => nativeLimitsLines(findNativeFacts()) };

/** Undefined without the native engine. */
function findNativeFacts(): NativeFacts | undefined {
  if (!native.probe().available) return undefined;
  const binding = nativeBinding();
  const [sharedMemory, memoryAccess] = binding.probeHost?.() ?? [];
  return { calibration: calibration(binding), sharedMemory, memoryAccess, ptraceScope: findHostLimits().ptraceScope };
}

const names = ['thresholds', 'shared memory', 'memory access'];

export function nativeLimitsLines(facts: NativeFacts | undefined): readonly Line[] {
  if (!facts) return names.map((name) => ({ name, text: 'not known without the native engine' }));
  const { calibration: found } = facts;
  return [
    { name: 'thresholds', text: describeCalibration(found), data: { calibration: found } },
    sharedMemoryLine(facts.sharedMemory),
    memoryAccessLine(facts),
  ];
}

function sharedMemoryLine(refusal: string | undefined): Line {
  const name = 'shared memory';
  if (refusal === undefined) return { name, text: unknown };
  if (refusal === '') return { name, verdict: 'ok', text: 'works between processes', data: { refused: false } };
  return {
    name,
    verdict: 'slow',
    text: `refused: ${refusal}; processes use TCP instead`,
    cure: 'allow memfd_create and /proc/PID/fd: a seccomp profile or a sandbox forbids them (Docker: --security-opt seccomp=unconfined)',
    data: { refused: true, reason: refusal },
  };
}

// Only libraries of MPI read the memory of other processes. They have other ways if they may not.
function memoryAccessLine({ memoryAccess, ptraceScope }: NativeFacts): Line {
  const name = 'memory access';
  if (memoryAccess === undefined) return { name, text: unknown };
  const scope = ptraceScope ? `kernel.yama.ptrace_scope is ${ptraceScope}` : '';
  const reason = memoryAccess || scope;
  const text = reason === '' ? 'allowed between processes' : `refused between processes: ${reason}`;
  return {
    name,
    text: `${text} (only libraries of MPI use it)`,
    data: { refused: reason !== '', reason, ptraceScope },
  };
}
