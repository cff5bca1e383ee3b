import { readFileSync, readlinkSync } from 'node:fs';

/** Identifies a process to the other processes of its host. */
export interface HostProcess {
  /**
   * Identifies the host by the machine's boot ID and the PID namespace, because containers on one
   * machine may number their processes separately.
   */
  readonly host: string;
  readonly pid: number;
  /** Start time of the process, because the system may reuse its process ID later. */
  readonly began: string;
}

/** Identifies this process; undefined if the system does not report it. */
export function thisProcess(): HostProcess | undefined {
  const host = thisHost();
  const began = stateOf(process.pid)?.began;
  return host === undefined || began === undefined ? undefined : { host, pid: process.pid, began };
}

/** Whether a process has certainly exited. False for processes of other hosts. */
export function hasEnded({ host, pid, began }: HostProcess): boolean {
  if (host !== thisHost()) return false;
  const state = stateOf(pid);
  return state ? state.hasEnded || state.began !== began : !isThere(pid);
}

let host: string | undefined;

function thisHost(): string | undefined {
  try {
    host ??= `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
    return host;
  } catch {
    return undefined;
  }
}

function stateOf(pid: number): { readonly hasEnded: boolean; readonly began: string } | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Fields after the name, which may contain anything: state is field 3, start time field 22.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return { hasEnded: fields[0] === 'Z' || fields[0] === 'X', began: fields[19] as string };
  } catch {
    return undefined;
  }
}

/**
 * Whether a process exists. Sends signal 0 instead of reading `/proc`, because the system may hide
 * entries of other users' processes there.
 */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
