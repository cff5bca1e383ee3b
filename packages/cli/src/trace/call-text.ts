import { purposeName } from '@coll/core/internal';
import { byteSize } from '@coll/core/plugin';
import { count } from '../try-verdict.js';
import type { Call } from './record-file.js';

/** The name of a call and its number, such as `all-reduce 812` or `barrier 3`. */
export function callName({ purpose, verb, number }: Call): string {
  return `${purposeName(purpose) ?? verb} ${number}`;
}

/** A call for people: `all-reduce 812 (sum, float32, 4,096 elements)`. */
export function callText(call: Call): string {
  const details = purposeName(call.purpose) === undefined ? [`${detailsOf(call)}`] : [];
  return [callName(call), ...details.map((text) => `(${text})`)].join(' ');
}

/** What a call does: `sum, float32, 4,096 elements`. */
export function detailsOf(call: Call): string {
  const { op, dtype, purpose, verb, peer } = call;
  const elements = elementsOf(call);
  const root = peer === undefined || verb === 'send' || verb === 'receive' ? [] : [`root ${peer}`];
  const length = purpose === 'itself' ? [`${count(elements)} element${elements === 1 ? '' : 's'}`] : [];
  return [...(op === undefined ? [] : [op]), ...root, dtype, ...length].join(', ');
}

/** The number of elements per rank, as the collectives count them. */
function elementsOf({ bytes, dtype, verb, part, peer }: Call): number {
  const elements = bytes / byteSize(dtype);
  const hasAllRanks = verb === 'all-gather' || verb === 'reduce-scatter' || verb === 'all-to-all';
  const isRoot = (verb === 'gather' || verb === 'scatter') && peer === part.rank;
  return Math.round(hasAllRanks || isRoot ? elements / part.size : elements);
}

/** Seconds for people: `0.4 s`, `41 s`, `3 min`. */
export function secondsText(seconds: number): string {
  if (seconds >= 600) return `${Math.round(seconds / 60)} min`;
  if (seconds >= 10) return `${Math.round(seconds)} s`;
  if (seconds >= 1) return `${Number(seconds.toFixed(1))} s`;
  return seconds >= 1e-3 ? `${Number((1e3 * seconds).toPrecision(2))} ms` : `${Math.round(1e6 * seconds)} µs`;
}

/** Bytes with a decimal unit: `480 B`, `4.8 MB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [scaled, unit] = [bytes, 0];
  for (; scaled >= 1000 && unit < units.length - 1; unit++) scaled /= 1000;
  return `${count(scaled)} ${units[unit]}`;
}

/** The name of a Linux system call, such as `read`; `system call 7` for others. */
export function systemCallName(number: number): string {
  const names: Readonly<Record<number, string>> = process.arch === 'arm64' ? arm64Calls : x64Calls;
  return names[number] ?? `system call ${number}`;
}

// Those that wait for files, devices, pipes, sockets, locks, or time.
const x64Calls = {
  ...{ 0: 'read', 1: 'write', 2: 'open', 3: 'close', 4: 'stat', 5: 'fstat', 6: 'lstat', 7: 'poll', 8: 'lseek' },
  ...{ 16: 'ioctl', 17: 'pread', 18: 'pwrite', 19: 'readv', 20: 'writev', 23: 'select', 35: 'nanosleep' },
  ...{ 42: 'connect', 43: 'accept', 44: 'sendto', 45: 'recvfrom', 46: 'sendmsg', 47: 'recvmsg', 61: 'wait4' },
  ...{ 72: 'fcntl', 73: 'flock', 74: 'fsync', 75: 'fdatasync', 76: 'truncate', 77: 'ftruncate', 78: 'getdents' },
  ...{ 82: 'rename', 83: 'mkdir', 84: 'rmdir', 87: 'unlink', 89: 'readlink', 137: 'statfs', 162: 'sync' },
  ...{ 202: 'futex', 217: 'getdents64', 230: 'clock_nanosleep', 232: 'epoll_wait', 247: 'waitid', 257: 'openat' },
  ...{ 262: 'newfstatat', 263: 'unlinkat', 264: 'renameat', 270: 'pselect6', 271: 'ppoll', 281: 'epoll_pwait' },
  ...{ 285: 'fallocate', 295: 'preadv', 296: 'pwritev', 306: 'syncfs', 316: 'renameat2', 332: 'statx' },
  ...{ 426: 'io_uring_enter' },
} as const;

const arm64Calls = {
  ...{ 22: 'epoll_pwait', 25: 'fcntl', 29: 'ioctl', 32: 'flock', 35: 'unlinkat', 38: 'renameat', 46: 'ftruncate' },
  ...{ 47: 'fallocate', 56: 'openat', 57: 'close', 61: 'getdents64', 62: 'lseek', 63: 'read', 64: 'write' },
  ...{ 65: 'readv', 66: 'writev', 67: 'pread', 68: 'pwrite', 72: 'pselect6', 73: 'ppoll', 79: 'newfstatat' },
  ...{ 80: 'fstat', 81: 'sync', 82: 'fsync', 83: 'fdatasync', 95: 'waitid', 98: 'futex', 101: 'nanosleep' },
  ...{ 115: 'clock_nanosleep', 202: 'accept', 203: 'connect', 206: 'sendto', 207: 'recvfrom', 211: 'sendmsg' },
  ...{ 212: 'recvmsg', 260: 'wait4', 267: 'syncfs', 276: 'renameat2', 291: 'statx', 426: 'io_uring_enter' },
} as const;
