import { readFileSync, readlinkSync } from 'node:fs';

/** A process, as others that see it can find it again. */
export interface HostProcess {
  /** The machine since it was started, and the numbers that its processes have: containers may have their own. */
  readonly host: string;
  readonly pid: number;
  /** When it began, since another one may get its number. */
  readonly began: string;
}

/** This process; undefined where the system does not tell. */
export function thisProcess(): HostProcess | undefined {
  const host = thisHost();
  const began = stateOf(process.pid)?.began;
  return host === undefined || began === undefined ? undefined : { host, pid: process.pid, began };
}

/** Whether a process has ended for certain: only those of this host are known. */
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
    // Behind the name, which may hold anything: the state comes third, the start twenty-second.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return { hasEnded: fields[0] === 'Z' || fields[0] === 'X', began: fields[19] as string };
  } catch {
    return undefined;
  }
}

/** Asks the system, which may hide the files of other users. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
